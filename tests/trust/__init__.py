"""What must hold against whoever means harm, tried in numbers: `make trust`. One module a subject, one trial a case.

A trial belongs here when a random case can be judged by itself: it gives nothing back where all held, and one line that
says what did not. Whatever needs a scene of its own is a test of the folder it is about.
"""
