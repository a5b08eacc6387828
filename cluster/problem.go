package cluster

import "strings"

// Problem is a reason why a cluster cannot be built as it is written.
type Problem struct {
	Code    string `json:"code"`    // stable, for machines: no-master, overlap, ...
	Subject string `json:"subject"` // the key or the host that it is about
	Message string `json:"message"` // what is wrong and what to do, one line
}

func (p Problem) String() string {
	if p.Subject == "" {
		return p.Message
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
