package program

// Defines returns the variables that later tasks of the host know after this task: the
// registered name, or the names that it sets.
func (t *Task) Defines() []string {
	if t.Register != "" {
		return []string{t.Register}
	}
	return t.Sets
}
