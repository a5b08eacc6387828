// Package limit holds the type of a number of hosts that is absolute or a share of a
// group: max_fail of inventories and playbooks, serial, the steps of a rollout.
package limit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Limit is a number of hosts, or a share of a group of hosts.
type Limit struct {
	Count   int     // hosts; ignored when Share is true
	Percent float64 // 0 to 100
	// Share is true when Percent counts, not Count.
	Share bool
}

// DefaultParallel returns the default of max_parallel of rollouts, a tenth of the hosts: a
// mistake that no canary reveals costs at most a tenth of the capacity.
func DefaultParallel() Limit { return Limit{Percent: 10, Share: true} }

// Parse reads "3" or "10%".
func Parse(s string) (Limit, error) {
	s = strings.TrimSpace(s)
	if share, ok := strings.CutSuffix(s, "%"); ok {
		p, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return Limit{}, fmt.Errorf("%q is not a share of hosts; write a percentage from 0%% to 100%%", s)
		}
		return Limit{Percent: p, Share: true}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return Limit{}, fmt.Errorf("%q is not a number of hosts; write something like 2 or 10%%", s)
	}
	return Limit{Count: n}, nil
}

// Of returns the number of hosts, of total. A share is rounded down: 10% of 5 hosts is
// none, so that a budget never allows more than its text.
func (l Limit) Of(total int) int {
	if l.Share {
		return int(l.Percent * float64(total) / 100)
	}
	return l.Count
}

// String returns the form that Parse reads.
func (l Limit) String() string {
	if l.Share {
		return strconv.FormatFloat(l.Percent, 'f', -1, 64) + "%"
	}
	return strconv.Itoa(l.Count)
}

// UnmarshalYAML reads a number or a percentage.
func (l *Limit) UnmarshalYAML(n *yaml.Node) (err error) {
	if n.Kind != yaml.ScalarNode {
		return errors.New("want a number of hosts or a share, as in 2 or 10%")
	}
	*l, err = Parse(n.Value)
	return err
}

// MarshalText returns the form that Parse reads, for JSON.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// YAMLSchema describes the type to strictyaml.Schema.
func (Limit) YAMLSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "integer", "minimum": 0},
		map[string]any{"type": "string", "pattern": `^[0-9.]+ *%$|^[0-9]+$`},
	}}
}
