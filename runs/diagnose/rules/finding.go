package rules

import (
	"cmp"
	"slices"
)

// Severity orders findings; a smaller one is worse.
type Severity int

// The severities.
const (
	Critical Severity = iota // does not work, or will soon not
	Warning                  // works, with less reserve than it should have
	Info                     // worth knowing
)

// String returns critical, warning or info.
func (s Severity) String() string { return [...]string{"critical", "warning", "info"}[s] }

// MarshalText encodes a severity as its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is a problem of a host.
type Finding struct {
	Severity Severity `json:"severity"`
	// Title names the problem in the same words for all hosts.
	Title string `json:"title"`
	Host  string `json:"host,omitempty"` // empty for the whole cluster
	// Evidence is output of the host, such as a line of a log.
	Evidence string `json:"evidence"`
	Advice   string `json:"advice,omitempty"` // what to do
	Guide    string `json:"guide,omitempty"`  // page of the documentation, below docs/, with its heading
	File     string `json:"file,omitempty"`   // file of the host in the archive that has more
}

// Sort orders findings: the worst first, then by title and host.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Title, b.Title), cmp.Compare(a.Host, b.Host))
	})
}

// Count returns the number of findings of a severity.
func Count(findings []Finding, s Severity) int {
	n := 0
	for _, f := range findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}
