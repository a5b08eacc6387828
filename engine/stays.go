package engine

// Stay is a step whose change stays on hosts after a run that did not complete.
type Stay struct {
	Step  string   `json:"step"`  // name of the step
	Hosts []string `json:"hosts"` // hosts that it has changed, in the order of the run
}
