//go:build lab

package lifecycle

// changed reports whether an event is the end of a step that has changed something.
func changed(e map[string]any) bool {
	result, _ := e["result"].(map[string]any)
	return e["type"] == "step.end" && result["status"] == "changed"
}

// killAtEveryChange runs the command first, kills it at its first change, and then
// runs and kills the continuation then in the same way until it completes. The test
// fails when there is no progress, and when there were fewer than five kills.
func (s *site) killAtEveryChange(first, then []string) {
	s.T.Helper()
	killed := 0
	for args := first; s.StartRun(args...).KillAt(changed); args = then {
		if killed++; killed > 60 {
			s.T.Fatalf("deployer %v makes no progress", first)
		}
	}
	s.T.Logf("the controller was killed %d times", killed)
	if killed < 5 {
		s.T.Errorf("the controller was killed %d times, want at least 5", killed)
	}
}
