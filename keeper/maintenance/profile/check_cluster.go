package profile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// maxMaintenance passes while fewer nodes than a maximum are in maintenance.
type maxMaintenance struct {
	Max        int      `yaml:"max" required:"true" range:"0.." doc:"Maximum number of nodes in maintenance."`
	Profile    string   `yaml:"profile" doc:"Count only nodes with this profile. Default: all nodes."`
	SkipAfter  Duration `yaml:"skipAfter" doc:"Do not count nodes whose last transition is longer ago. Default: count all."`
	GroupBy    []string `yaml:"groupBy" doc:"Count only nodes with the same values as the node for these labels. Default: all nodes."`
	GroupLabel string   `yaml:"groupLabel" doc:"One more label of groupBy. Deprecated."`
}

func (c *maxMaintenance) evaluate(s *subject) (Result, error) {
	var counted []string
	for _, node := range s.world.Nodes {
		_, busy := s.world.Busy[node.Name]
		if !s.world.maintained(node) && (!busy || node.Name == s.node.Name) || !c.inGroup(node, s.node) {
			continue
		}
		recent, err := c.recent(node, s.world)
		if err != nil {
			return Result{}, err
		}
		if recent || busy {
			counted = append(counted, node.Name)
		}
	}
	return passedIf(len(counted) < c.Max, "%d of at most %d nodes are in maintenance%s", len(counted), c.Max, namesOf(counted))
}

// namesOf lists up to three nodes.
func namesOf(nodes []string) string {
	switch n := len(nodes); {
	case n == 0:
		return ""
	case n > 3:
		return fmt.Sprintf(": %s and %d more", strings.Join(nodes[:3], ", "), n-3)
	}
	return ": " + strings.Join(nodes, ", ")
}

// inGroup reports whether a node counts for another one.
func (c *maxMaintenance) inGroup(node, of *corev1.Node) bool {
	if c.Profile != "" && !slices.Contains(NamesOf(node.Labels), c.Profile) {
		return false
	}
	for _, label := range append(slices.Clone(c.GroupBy), c.GroupLabel) {
		if want := of.Labels[label]; want != "" && node.Labels[label] != want {
			return false
		}
	}
	return true
}

// recent reports whether the last transition of a node counts.
func (c *maxMaintenance) recent(node *corev1.Node, w *World) (bool, error) {
	if c.SkipAfter == 0 {
		return true, nil
	}
	data, err := w.data(node)
	if err != nil {
		return false, err
	}
	var last time.Time
	for name, p := range data.Profiles {
		if (c.Profile == "" || name == c.Profile) && p.Transition.After(last) {
			last = p.Transition
		}
	}
	return w.Now.Sub(last) < time.Duration(c.SkipAfter), nil
}

// nodeCount passes if the cluster has enough nodes.
type nodeCount struct {
	Count int `yaml:"count" required:"true" range:"0.." doc:"Minimum number of nodes."`
}

func (c *nodeCount) evaluate(s *subject) (Result, error) {
	n := len(s.world.Nodes)
	return passedIf(n >= c.Count, "the cluster has %d nodes, %d are wanted", n, c.Count)
}

// clusterSemver passes if the version in a label of the node is less than the highest one of the cluster.
type clusterSemver struct {
	Key           string `yaml:"key" required:"true" doc:"Key of the label with a semantic version."`
	ProfileScoped bool   `yaml:"profileScoped" doc:"Compare with nodes of the same profile only. Default false."`
}

func (c *clusterSemver) evaluate(s *subject) (Result, error) {
	text, ok := s.node.Labels[c.Key]
	if !ok {
		return Result{}, fmt.Errorf("the node has no label %s with a version", c.Key)
	}
	own, err := version.ParseSemantic(text)
	if err != nil {
		return Result{}, fmt.Errorf("label %s: %w", c.Key, err)
	}
	highest := own
	for _, node := range s.world.Nodes {
		if c.ProfileScoped && !slices.Contains(NamesOf(node.Labels), s.profile) {
			continue
		}
		if v, err := version.ParseSemantic(node.Labels[c.Key]); err == nil && highest.LessThan(v) {
			highest = v
		}
	}
	return passedIf(own.LessThan(highest), "version %s, highest in the cluster %s", own, highest)
}

// affinity lets nodes without pods that prefer operational nodes into maintenance first.
type affinity struct {
	MinOperational int `yaml:"minOperational" range:"0.." doc:"Pass anyway while this many nodes of the profile are operational. Default 0: never."`
}

func (c *affinity) evaluate(s *subject) (Result, error) {
	if s.state != Required {
		return Result{}, fmt.Errorf("check affinity works in the state %s only, the node is %s", Required, s.state)
	}
	operational, required := 0, []string{}
	for _, node := range s.world.Nodes {
		data, err := s.world.data(node)
		p := data.Profiles[s.profile]
		switch {
		case err != nil || p == nil: // a node with an unreadable state holds itself up, not others
		case p.Current == Operational:
			operational++
		case p.Current == Required && node.Name != s.node.Name:
			required = append(required, node.Name)
		}
	}
	if c.MinOperational > 0 && operational >= c.MinOperational {
		return passedIf(true, "%d nodes are operational, %d suffice", operational, c.MinOperational)
	}
	own, err := s.world.Facts.PrefersOperational(s.node.Name)
	if err != nil {
		return Result{}, err
	}
	if !own {
		return passedIf(true, "no pod of the node prefers operational nodes")
	}
	for _, other := range required {
		has, err := s.world.Facts.PrefersOperational(other)
		if err != nil {
			return Result{}, err
		}
		if !has {
			return passedIf(false, "node %s goes first: none of its pods prefers operational nodes", other)
		}
	}
	return passedIf(true, "all nodes in %s have pods that prefer operational nodes", Required)
}
