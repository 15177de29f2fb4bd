provider "aws" {
  region = var.region

  # The provider takes "no capacity" for a passing fault and repeats the launch with growing pauses: eleven calls in the
  # first 150 seconds, and no end in sight. Three calls take five seconds and still outlast two throttled ones.
  max_retries = 3
}
