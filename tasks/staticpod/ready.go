// Package staticpod has the gate for static pods: a manifest has taken effect when
// containers created from it run and respond, not when it was written.
package staticpod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/tasks/containerd"
	"deployer/tasks/httpcheck"
)

// HashAnnotation is the annotation of a manifest that identifies its containers. Its
// value covers everything whose change must restart the pod.
const HashAnnotation = "deployer/hash"

// Ready waits until the kubelet runs a static pod as its manifest says. The kubelet
// need not run yet. The module queries containerd and not the kubelet, because the
// kubelet only answers clients that the API server authenticates, and the API server
// is one of the pods.
type Ready struct {
	Manifest  string          `yaml:"manifest" rule:"path" required:"true" doc:"absolute path of the manifest; it must carry the annotation deployer/hash"`
	Health    *httpcheck.HTTP `yaml:"health" doc:"request that the pod must answer; default none"`
	Timeout   time.Duration   `yaml:"timeout" range:"0s.." doc:"maximum wait; default 2m"`
	MissingOK bool            `yaml:"missing_ok" doc:"do not fail when the manifest does not exist. Default false"`
	Ctr       string          `yaml:"ctr" rule:"path" doc:"path of the ctr program; default /usr/local/bin/ctr, else ctr from the search path"`
	Socket    string          `yaml:"socket" rule:"path" doc:"containerd's socket; default /run/containerd/containerd.sock"`
}

var _ engine.Module = (*Ready)(nil)

// Gate returns the same wait, for a pod that may not exist any more.
func (r *Ready) Gate() any {
	gate := *r
	gate.MissingOK = true
	return &gate
}

const defaultTimeout = 2 * time.Minute

// manifest is the part of a pod that the gate needs.
type manifest struct {
	Metadata struct {
		Name        string            `yaml:"name"`
		Namespace   string            `yaml:"namespace"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Spec struct {
		Containers []container `yaml:"containers"`
		Volumes    []struct {
			Name     string `yaml:"name"`
			HostPath struct {
				Path string `yaml:"path"`
			} `yaml:"hostPath"`
		} `yaml:"volumes"`
	} `yaml:"spec"`
}

type container struct {
	Name         string `yaml:"name"`
	VolumeMounts []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

// hostPath returns the path on the host of a volume; empty for other volumes.
func (m manifest) hostPath(volume string) string {
	for _, v := range m.Spec.Volumes {
		if v.Name == volume {
			return v.HostPath.Path
		}
	}
	return ""
}

func (r *Ready) read(sys engine.System) (manifest, error) {
	var m manifest
	data, err := os.ReadFile(sys.Path(r.Manifest))
	if err != nil {
		return m, fmt.Errorf("reading the manifest: %w", err)
	}
	if err := yaml.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("manifest %s: %w", r.Manifest, err)
	}
	m.Metadata.Namespace = cmp.Or(m.Metadata.Namespace, "default")
	switch {
	case m.Metadata.Name == "" || len(m.Spec.Containers) == 0:
		return m, fmt.Errorf("manifest %s is not that of a pod with a name and containers", r.Manifest)
	case m.Metadata.Annotations[HashAnnotation] == "":
		return m, fmt.Errorf("manifest %s has no annotation %s, by which its containers could be recognized", r.Manifest, HashAnnotation)
	}
	return m, nil
}

// Check checks once. In a dry run the manifest may not exist yet. A container that has a deleted
// directory mounted is restarted, unless the pod is replaced anyway.
func (r *Ready) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if !filepath.IsAbs(r.Manifest) {
		return engine.Change{}, fmt.Errorf("manifest %q is not an absolute path", r.Manifest)
	}
	m, err := r.read(sys)
	if r.MissingOK && errors.Is(err, fs.ErrNotExist) {
		return engine.NoChange(nil), nil
	}
	if err == nil {
		err = r.runs(ctx, sys, m)
	}
	if stale, ok := errors.AsType[*staleMountError](err); ok && !wouldChange(sys, r.Manifest) {
		return engine.Changed(stale.effect(m)), nil
	}
	if err == nil && r.answers(ctx, sys) == nil {
		return engine.NoChange(nil), nil
	}
	return engine.Change{Needed: true, Wait: true}, nil
}

// Apply waits. After the timeout the error has the end of the pod's log.
func (r *Ready) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	m, err := r.read(sys)
	if err != nil {
		return nil, err
	}
	if err := r.renewMounts(ctx, sys, m); err != nil {
		return nil, err
	}
	timeout := cmp.Or(r.Timeout, defaultTimeout)
	began := time.Now()
	err = httpcheck.Poll(ctx, timeout, glanceEvery, sys.Progress, (&watch{ready: r, sys: sys, manifest: m}).try)
	if err != nil {
		return nil, &engine.Failure{
			Message: fmt.Sprintf("static pod %s is not up after %s: %v%s", m.Metadata.Name, time.Since(began).Round(time.Second), err, r.copies(sys, m)),
			Detail:  logOf(sys, m, err),
		}
	}
	return engine.Output{"elapsed_seconds": time.Since(began).Seconds()}, nil
}

// renewMounts ends the containers that have deleted directories mounted; the kubelet starts
// others in their place.
func (r *Ready) renewMounts(ctx context.Context, sys engine.System, m manifest) error {
	stale, ok := errors.AsType[*staleMountError](r.runs(ctx, sys, m))
	if !ok {
		return nil
	}
	if _, err := r.containerd(sys).Run(ctx, "tasks", "kill", "--signal", "SIG"+signalEnd, stale.id); err != nil {
		return fmt.Errorf("ending container %s, which has the deleted %s mounted: %w", stale.name, stale.path, err)
	}
	return nil
}

// wouldChange reports whether an earlier step of a dry run would change a path.
func wouldChange(sys engine.System, path string) bool {
	view, ok := sys.(engine.DryRunView)
	return ok && view.WouldChange(path)
}

func (r *Ready) answers(ctx context.Context, sys engine.System) error {
	if r.Health == nil {
		return nil
	}
	_, err := r.Health.Do(ctx, sys)
	return err
}

func (r *Ready) runs(ctx context.Context, sys engine.System, m manifest) error {
	c := r.containerd(sys)
	seen, err := look(ctx, c, m)
	if err != nil {
		return err
	}
	return seen.problem(ctx, sys, c, m)
}

func (r *Ready) containerd(sys engine.System) containerd.Client {
	return containerd.Connect(sys, r.Ctr, r.Socket)
}
