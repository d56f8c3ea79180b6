"""The file system: Markdown files of all workspaces, locks, and the home's secret."""
