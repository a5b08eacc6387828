package status

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"deployer/keeper/world"
	"deployer/tasks/control/kube"
)

// fencesAnnotation is the annotation of the ConfigMap with the attempts of the last hour to switch off machines. It
// outlives Nodes and their taints, and keepers that lead.
const fencesAnnotation = "deployer/fences"

// fencesKept is the time for which an attempt is kept.
const fencesKept = time.Hour

// Fences returns the attempts of the last hour to switch off machines.
func Fences(ctx context.Context, c *kube.Client, now time.Time) ([]world.Fencing, error) {
	text, err := annotation(ctx, c, fencesAnnotation)
	if err != nil {
		return nil, fmt.Errorf("reading which machines were switched off: %w", err)
	}
	if text == "" {
		return nil, nil
	}
	var all []world.Fencing
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("annotation %s of ConfigMap %s/%s: %w", fencesAnnotation, Namespace, Name, err)
	}
	return slices.DeleteFunc(all, func(f world.Fencing) bool { return now.Sub(f.At) >= fencesKept }), nil
}

// AddFence records an attempt, before its hooks run.
func AddFence(ctx context.Context, c *kube.Client, f world.Fencing) error {
	all, err := Fences(ctx, c, f.At)
	if err != nil {
		return err
	}
	text, err := json.Marshal(append(all, f))
	if err != nil {
		return err
	}
	if err := annotate(ctx, c, "deployer-keeper-fences", fencesAnnotation, string(text)); err != nil {
		return fmt.Errorf("recording that a machine is switched off: %w", err)
	}
	return nil
}
