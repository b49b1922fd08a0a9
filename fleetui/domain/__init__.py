"""The field's words as plain, frozen types. No I/O; imports nothing of ours."""
