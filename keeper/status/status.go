// Package status has what keepers say of themselves, and whether a person has paused them. Both are in
// one ConfigMap and no kind of its own, so that they need no definition, which might be missing or newer
// than the keeper, and every program that reads ConfigMaps can read them.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
	"deployer/tasks/control/kube"
)

// The ConfigMap of the keepers. Each keeper has the key with the name of its host, with a [Status].
const (
	Namespace = "kube-system"
	Name      = "deployer-keeper"
	pauseKey  = "pause"
)

// Status is what one keeper says of itself.
type Status struct {
	Host       string             `json:"host"`
	Version    string             `json:"version"`
	Time       time.Time          `json:"time"`   // of the pass
	Leader     bool               `json:"leader"` // it works for the whole cluster
	DryRun     bool               `json:"dry_run,omitempty"`
	Nodes      int                `json:"nodes,omitempty"`
	Conditions []decide.Condition `json:"conditions"`
	Problems   []decide.Problem   `json:"problems,omitempty"`
	Done       []actionlog.Entry  `json:"done,omitempty"` // the last actions, the newest last

	// Snapshots are the times of the newest scheduled snapshots on the host, by the name of the etcd cluster.
	Snapshots map[string]time.Time `json:"snapshots,omitempty"`
}

// Pause is the wish of a person that the keepers do nothing.
type Pause struct {
	By     string    `json:"by"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"` // zero: until somebody resumes
	Reason string    `json:"reason,omitempty"`
}

// Active reports whether the pause holds at a time.
func (p *Pause) Active(now time.Time) bool {
	return p != nil && (p.Until.IsZero() || now.Before(p.Until))
}

// String describes the pause in one line.
func (p *Pause) String() string {
	text := "paused by " + p.By + " since " + p.Since.UTC().Format(time.RFC3339)
	if !p.Until.IsZero() {
		text += " until " + p.Until.UTC().Format(time.RFC3339)
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// ConfigMapKind is the kind of ConfigMaps.
func ConfigMapKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
}

// Read returns the pause and the status of every keeper, by host. A cluster without the ConfigMap has none.
func Read(ctx context.Context, c *kube.Client) (*Pause, map[string]Status, error) {
	object, err := c.Get(ctx, ConfigMapKind(), Namespace, Name)
	if apierrors.IsNotFound(err) {
		return nil, map[string]Status{}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the status of the keepers: %w", err)
	}
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	var pause *Pause
	all := map[string]Status{}
	for key, text := range data {
		if key == pauseKey {
			pause = &Pause{}
			if err := json.Unmarshal([]byte(text), pause); err != nil {
				// Whoever wrote it meant a pause.
				pause = &Pause{By: "unknown", Reason: "the pause in ConfigMap " + Namespace + "/" + Name + " cannot be read"}
			}
			continue
		}
		var s Status
		if json.Unmarshal([]byte(text), &s) == nil {
			all[key] = s
		}
	}
	return pause, all, nil
}

// Write writes the status of one keeper. Others' keys stay, because each keeper is a field manager of
// its own.
func Write(ctx context.Context, c *kube.Client, s Status) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return apply(ctx, c, "deployer-keeper-"+s.Host, map[string]any{s.Host: string(text)})
}

// SetPause pauses the keepers, or ends the pause when p is nil.
func SetPause(ctx context.Context, c *kube.Client, p *Pause) error {
	data := map[string]any{}
	if p != nil {
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		data[pauseKey] = string(text)
	}
	return apply(ctx, c, "deployer-keeper-pause", data)
}

func apply(ctx context.Context, c *kube.Client, manager string, data map[string]any) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": Namespace, "name": Name},
		"data":     data,
	}}
	_, err := c.Apply(ctx, object, manager, true, false)
	return err
}

// postAddSince is the annotation of the ConfigMap with the time at which hooks for nodes that join were set.
const postAddSince = "deployer/post-add-since"

// PostAddSince returns the time from which on nodes that join get hooks; zero when there is none.
func PostAddSince(ctx context.Context, c *kube.Client) (time.Time, error) {
	text, err := annotation(ctx, c, postAddSince)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading since when hooks run for nodes that join: %w", err)
	}
	if text == "" {
		return time.Time{}, nil
	}
	since, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("annotation %s of ConfigMap %s/%s: %w", postAddSince, Namespace, Name, err)
	}
	return since, nil
}

// SetPostAddSince sets the time from which on nodes that join get hooks; a zero time removes it.
func SetPostAddSince(ctx context.Context, c *kube.Client, since time.Time) error {
	const manager = "deployer-keeper-post-add"
	if since.IsZero() {
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{postAddSince: nil}}})
		if err != nil {
			return err
		}
		_, err = c.Patch(ctx, ConfigMapKind(), Namespace, Name, text, manager)
		return err
	}
	return annotate(ctx, c, manager, postAddSince, since.UTC().Format(time.RFC3339))
}
