package cluster

import (
	"fmt"
	"strings"
)

// Problem is a reason why a cluster cannot be built as it is written.
type Problem struct {
	Code      string `json:"code"`                // stable code for machines, such as no-master or overlap
	Subject   string `json:"subject"`             // key of the inventory or name of the host
	Message   string `json:"message"`             // one line: the fault and the advice
	Component string `json:"component,omitempty"` // name of the component, such as kubelet; empty for other subjects
	// More are further hosts with the same problem, when Subject is a host.
	More []string `json:"more,omitempty"`
}

func (p Problem) String() string {
	switch {
	case p.Subject == "":
		return p.Message
	case len(p.More) == 1:
		return fmt.Sprintf("%s: %s (and %s)", p.Subject, p.Message, p.More[0])
	case len(p.More) > 1:
		return fmt.Sprintf("%s: %s (and %d other hosts)", p.Subject, p.Message, len(p.More))
	}
	return p.Subject + ": " + p.Message
}

// Problems is a list of problems, as an error.
type Problems []Problem

func (p Problems) Error() string {
	var lines []string
	for _, one := range p {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n")
}
