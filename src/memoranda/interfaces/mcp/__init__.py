"""Memory over the Model Context Protocol: the tool table behind stdio and streamable HTTP."""
