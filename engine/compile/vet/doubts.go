package vet

import "deployer/engine/program"

// Doubts are what a program with errors does not say about the variables of its hosts. The zero
// value is that of a program without errors and without loops that have no items.
type Doubts struct {
	// Names may have a value from something that could not be compiled. With Any every name
	// may, because a file or a role is missing.
	Names map[string]bool
	Any   bool
	// Args are the tasks whose arguments have errors that are reported already.
	Args map[*program.Task]bool
	// Unreached are the tasks of includes whose loop has no items on any host; they are not in
	// the program.
	Unreached []*program.Task
}

// mayHave reports whether a name may have a value from something that could not be compiled.
func (d Doubts) mayHave(name string) bool { return d.Any || d.Names[name] }
