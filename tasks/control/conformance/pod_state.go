package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/engine/sanitize"
)

// podState is the state of the pod of the tests.
type podState struct {
	running bool // the tests have started
	ended   bool // the tests have ended
	code    int32
	// waiting is why a container does not run; pull is true when its image cannot be pulled.
	waiting string
	pull    bool
	// fault is why the tests can neither run nor end in this pod; empty: they may.
	fault string
}

// stateOf reads the state of the tests from a pod.
func stateOf(p *corev1.Pod, now time.Time) podState {
	var s podState
	for _, c := range p.Status.ContainerStatuses {
		name := c.Name
		switch state := c.State; {
		case state.Waiting != nil:
			s.waiting = sanitize.FirstLine(sanitize.Line(strings.TrimSpace(state.Waiting.Reason+" "+state.Waiting.Message)), maxCause)
			s.pull = slices.Contains([]string{"ErrImagePull", "ImagePullBackOff"}, state.Waiting.Reason)
			if slices.Contains([]string{"ErrImageNeverPull", "InvalidImageName"}, state.Waiting.Reason) {
				s.fault = fmt.Sprintf("its container %s cannot start: %s", name, s.waiting)
			}
		case state.Running != nil && name == testsContainer:
			s.running = true
		case state.Terminated != nil && name == testsContainer:
			s.ended, s.code = true, state.Terminated.ExitCode
			if reason := state.Terminated.Reason; reason == "OOMKilled" || reason == "StartError" || reason == "ContainerCannotRun" {
				s.fault = sanitize.FirstLine(sanitize.Line(fmt.Sprintf("the tests ended: %s %s", reason, state.Terminated.Message)), maxCause)
			}
		case state.Terminated != nil:
			s.fault = fmt.Sprintf("its container %s ended with %d", name, state.Terminated.ExitCode)
		}
	}
	switch {
	case s.fault != "" || s.ended && p.DeletionTimestamp == nil:
	case p.DeletionTimestamp != nil && now.After(p.DeletionTimestamp.Time):
		s.fault = "another program deletes it"
	case p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded: // evicted, or refused by the kubelet
		s.fault = sanitize.FirstLine(sanitize.Line(fmt.Sprintf("it ended without its tests: %s %s", p.Status.Reason, p.Status.Message)), maxCause)
	}
	return s
}
