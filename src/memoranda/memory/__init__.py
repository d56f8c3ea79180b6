"""What users hold: Memory (a home), Agent (a caller), Session (an agent in one conversation), Operator."""

from memoranda.memory.agent import Agent
from memoranda.memory.home import Memory
from memoranda.memory.job import Job
from memoranda.memory.operator import Operator
from memoranda.memory.parts import Parts
from memoranda.memory.session import Session

__all__ = ["Agent", "Job", "Memory", "Operator", "Parts", "Session"]
