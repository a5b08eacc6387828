package program

// Defines are the names that later tasks of the host know when the task has run:
// the one that it registers, or those that it sets.
func (t *Task) Defines() []string {
	if t.Register != "" {
		return []string{t.Register}
	}
	return t.Sets
}
