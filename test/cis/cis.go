// Package cis has the checks of the CIS Kubernetes Benchmark with what an installed
// cluster makes of them. checks.yaml is the list. docs/security.md is rendered from
// it (go test ./test/cis -update), and the scenarios of test/e2e evaluate it: Script
// reads a host in one shell command, Parse makes a Host of the output, and
// Check.Evaluate compares the host with the check.
package cis

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// The verdicts.
const (
	Met      = "met"
	NotMet   = "not met"
	Operator = "operator"
)

// Groups of hosts that checks are evaluated on.
const (
	Masters = "masters"
	Etcd    = "etcd"
	Nodes   = "nodes"
)

// Section is a group of checks of the benchmark.
type Section struct {
	Title  string  `yaml:"section"`
	Checks []Check `yaml:"checks"`
}

// Check is one check of the benchmark.
type Check struct {
	ID      string `yaml:"id"`
	Title   string `yaml:"title"`
	Verdict string `yaml:"verdict"`
	Why     string `yaml:"why"`  // reason or way, for people
	On      string `yaml:"on"`   // group of hosts that Test looks at; empty: the API
	Test    *Test  `yaml:"test"` // nil when a program cannot decide it
}

// Test is the object and the expectation of a check. Exactly one of File, Flag
// and Refused is set.
type Test struct {
	File  string `yaml:"file"`
	Below string `yaml:"below"` // pattern of names: all such files below the directory File
	Mode  string `yaml:"mode"`  // octal; no file has a bit beyond it
	Owner string `yaml:"owner"` // user:group
	Key   string `yaml:"key"`   // of the YAML in File, with dots; its value is compared
	Line  string `yaml:"line"`  // that File must have

	Flag string `yaml:"flag"` // of the process Of; its value is compared
	Of   string `yaml:"of"`
	And  string `yaml:"and"` // a second flag that must be set too

	Refused string `yaml:"refused"` // spec of a pod that the API refuses in a namespace without labels; Has is in the reason

	// How a value is compared; none of them: it is set.
	Is    string   `yaml:"is"`
	Has   string   `yaml:"has"`   // element of a list
	Lacks string   `yaml:"lacks"` // element of a list; an unset value lacks everything
	Among []string `yaml:"among"` // all elements of a list
	Least int      `yaml:"least"`
	Unset bool     `yaml:"unset"`
}

//go:embed checks.yaml
var checksFile []byte

// Sections decodes the list of checks.
func Sections() ([]Section, error) {
	var out []Section
	dec := yaml.NewDecoder(bytes.NewReader(checksFile))
	dec.KnownFields(true)
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("reading checks.yaml: %w", err)
	}
	return out, nil
}

// Testable lists the checks that have a test for a group of hosts.
func Testable(sections []Section, group string) []Check {
	var out []Check
	for _, s := range sections {
		for _, c := range s.Checks {
			if c.Test != nil && c.On == group {
				out = append(out, c)
			}
		}
	}
	return out
}

// paths are the files that tests look at, sorted, those whose content counts apart.
func paths(checks []Check) (access map[string][]string, contents []string) {
	access = map[string][]string{}
	for _, c := range checks {
		t := c.Test
		if t.File == "" {
			continue
		}
		if t.Key != "" || t.Line != "" {
			contents = append(contents, t.File)
		}
		access[t.File] = append(access[t.File], t.Below)
	}
	slices.Sort(contents)
	return access, slices.Compact(contents)
}
