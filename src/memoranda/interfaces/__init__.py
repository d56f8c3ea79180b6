"""What people and agents touch: command line, tools, MCP, HTTP. They parse, call the facade and present."""
