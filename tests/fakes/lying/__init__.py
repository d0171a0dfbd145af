"""API servers with one fault each, on top of a server that answers correctly: they cut, delay, lie or replay
answers.
"""
