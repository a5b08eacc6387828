package profile

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Check is a check instance of the file.
type Check struct {
	Name string
	Type string
	of   check
}

// check is the configuration of one type of check. It never changes anything.
type check interface {
	evaluate(s *subject) (Result, error)
}

// subject is the node that a check is about, in one of its profiles.
type subject struct {
	node    *corev1.Node
	profile string
	state   State
	since   time.Time // of the last transition in this profile
	world   *World
}

// Result is the result of a check.
type Result struct {
	Passed bool
	// Reason explains the result to people; may be empty.
	Reason string
	// Take is the lease that the node must take if it makes the transition; nil for none.
	Take *Take
}

// Take is a lease that a node takes, for a time.
type Take struct {
	Key      LeaseKey
	Duration time.Duration
}

func passedIf(ok bool, format string, args ...any) (Result, error) {
	return Result{Passed: ok, Reason: fmt.Sprintf(format, args...)}, nil
}

// newCheck returns a check of a type with its defaults; nil for an unknown type.
func newCheck(kind string) check {
	switch kind {
	case "hasLabel":
		return &hasLabel{}
	case "hasAnnotation":
		return &hasAnnotation{}
	case "anyLabel":
		return &anyLabel{}
	case "condition":
		return &condition{}
	case "maxMaintenance":
		return &maxMaintenance{}
	case "nodeCount":
		return &nodeCount{}
	case "clusterSemver":
		return &clusterSemver{}
	case "affinity":
		return &affinity{}
	case "stagger":
		return &stagger{Parallel: 1}
	case "timeWindow":
		return &timeWindow{}
	case "wait":
		return &wait{}
	case "waitExclude":
		return &waitExclude{}
	case "prometheusInstant":
		return &prometheusInstant{}
	}
	return nil
}

var checkTypes = []string{"hasLabel", "hasAnnotation", "anyLabel", "condition", "maxMaintenance", "nodeCount",
	"clusterSemver", "affinity", "stagger", "timeWindow", "wait", "waitExclude", "prometheusInstant"}
