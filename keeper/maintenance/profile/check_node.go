package profile

import (
	corev1 "k8s.io/api/core/v1"
)

// hasLabel passes if the node has a label.
type hasLabel struct {
	Key   string `yaml:"key" required:"true" doc:"Key of the label."`
	Value string `yaml:"value" doc:"Value that the label must have. Default: any."`
}

func (c *hasLabel) evaluate(s *subject) (Result, error) {
	return hasKey("label", s.node.Labels, c.Key, c.Value)
}

// hasAnnotation passes if the node has an annotation.
type hasAnnotation struct {
	Key   string `yaml:"key" required:"true" doc:"Key of the annotation."`
	Value string `yaml:"value" doc:"Value that the annotation must have. Default: any."`
}

func (c *hasAnnotation) evaluate(s *subject) (Result, error) {
	return hasKey("annotation", s.node.Annotations, c.Key, c.Value)
}

func hasKey(kind string, of map[string]string, key, want string) (Result, error) {
	got, ok := of[key]
	if !ok {
		return passedIf(false, "the node has no %s %s", kind, key)
	}
	return passedIf(want == "" || got == want, "%s %s is %q", kind, key, got)
}

// anyLabel passes if any node of the cluster has a label.
type anyLabel struct {
	Key   string `yaml:"key" required:"true" doc:"Key of the label."`
	Value string `yaml:"value" doc:"Value that the label must have. Default: any."`
}

func (c *anyLabel) evaluate(s *subject) (Result, error) {
	for _, node := range s.world.Nodes {
		if got, ok := node.Labels[c.Key]; ok && (c.Value == "" || got == c.Value) {
			return passedIf(true, "node %s has label %s=%s", node.Name, c.Key, got)
		}
	}
	return passedIf(false, "no node has label %s", c.Key)
}

// condition passes if a condition of the node has a status.
type condition struct {
	Type   string `yaml:"type" required:"true" doc:"Type of the condition, such as Ready."`
	Status string `yaml:"status" required:"true" enum:"True,False,Unknown" doc:"Status of the condition."`
}

func (c *condition) evaluate(s *subject) (Result, error) {
	for _, is := range s.node.Status.Conditions {
		if is.Type == corev1.NodeConditionType(c.Type) {
			return passedIf(string(is.Status) == c.Status, "condition %s is %s", c.Type, is.Status)
		}
	}
	return passedIf(false, "the node has no condition %s", c.Type)
}
