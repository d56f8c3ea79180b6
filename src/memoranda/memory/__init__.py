"""What users hold: Memory (a home) and Agent (one caller in one scope of it)."""

from memoranda.memory.agent import Agent
from memoranda.memory.home import Memory
from memoranda.memory.parts import Parts

__all__ = ["Agent", "Memory", "Parts"]
