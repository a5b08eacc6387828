// Package cis lists the checks of the CIS Kubernetes Benchmark with the verdict for an
// installed cluster. checks.yaml is the list. `go test ./test/cis -update` renders
// docs/security.md from it, and the scenarios of test/e2e evaluate it: Script is a
// shell command that reads the state of a host, Parse decodes its output into a Host,
// and Check.Evaluate compares the Host with the check.
package cis

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// Verdicts of checks.
const (
	Met      = "met"      // by an install, without further settings
	NotMet   = "not met"  // for the reason in Check.Why
	Operator = "operator" // depends on the operator of the cluster
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
	Why     string `yaml:"why"`  // note of the page: the reason, or how to meet the check
	On      string `yaml:"on"`   // group of hosts that Test examines; empty: the API
	Test    *Test  `yaml:"test"` // nil when a program cannot decide it
}

// Test is the object and the expectation of a check. Exactly one of File, Flag
// and Refused is set.
type Test struct {
	File  string `yaml:"file"`
	Below string `yaml:"below"` // pattern of names: all such files below the directory File
	Mode  string `yaml:"mode"`  // octal; the maximum permissions of the files
	Owner string `yaml:"owner"` // user:group
	Key   string `yaml:"key"`   // path of a key in the YAML of File, separated by dots; its value is compared
	Line  string `yaml:"line"`  // line that File must contain

	Flag string `yaml:"flag"` // flag of the process Of; its value is compared
	Of   string `yaml:"of"`   // name of the process
	And  string `yaml:"and"`  // a second flag that must be set too

	Refused string `yaml:"refused"` // spec of a pod that the API refuses in a namespace without labels; the reason contains Has

	// How the value is compared. Without any of them, the value must be set.
	Is    string   `yaml:"is"`
	Has   string   `yaml:"has"`   // element that the list must have
	Lacks string   `yaml:"lacks"` // element that the list must not have; an unset value passes
	Among []string `yaml:"among"` // the list must have no other elements
	Least int      `yaml:"least"` // minimum of an integer
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

// paths returns the files that tests of checks examine: access has the values of Below
// by file, contents the sorted files whose content is compared.
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
