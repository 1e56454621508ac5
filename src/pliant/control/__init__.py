"""Control of robots: step by step, by optimal plans, and by laws of feedback with a name."""
