"""Running terraform: command lines, environment, process, reports and typed failures behind one interface."""
