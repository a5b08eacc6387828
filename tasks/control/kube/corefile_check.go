package kube

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/engine"
)

// CorefileCheck is the action `corefile_check`: one pod starts with a changed Corefile of cluster DNS before
// the pods that serve get it. They read a changed ConfigMap by themselves, and a pod that starts with a
// wrong one ends.
type CorefileCheck struct {
	Template string        `yaml:"template" rule:"line" template:"true" required:"true" doc:"Template file of the role, with the ConfigMap and the Deployment of cluster DNS."`
	Timeout  time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait until the pod is ready; default 2m."`
}

// NewCorefileCheck returns the action with its defaults.
func NewCorefileCheck() *CorefileCheck { return &CorefileCheck{Timeout: 2 * time.Minute} }

// corefileKey is the key of the Corefile in the ConfigMap.
const corefileKey = "Corefile"

// labelCheck marks the pod of a check and its ConfigMap. No Service selects the pod.
const labelCheck, corefileLabel = "deployer/check", "corefile"

// checkInterval is the time between two looks at the pod.
const checkInterval = 500 * time.Millisecond

// Check compares the Corefile of the cluster with that of the template. Without a Corefile in the cluster,
// no pod serves yet, and nothing is needed.
func (c *CorefileCheck) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	config, workload, err := c.wanted(actx)
	if err != nil {
		return engine.Change{}, err
	}
	client, err := Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	if actx.CheckOnly() {
		client = client.WithRetryTimeout(-1)
	}
	now, err := client.Get(ctx, configMapKind(), config.GetNamespace(), config.GetName())
	switch {
	case apierrors.IsNotFound(err), err == nil && corefile(now) == corefile(config):
		return engine.NoChange(nil), nil
	case err != nil && actx.CheckOnly() && IsTransient(err):
		return engine.NoChange(nil), nil // kube_apply reports that the objects are not compared
	case err != nil:
		return engine.Change{}, fmt.Errorf("reading the Corefile of cluster DNS: %w", err)
	}
	pod, _ := checkObjects(config, workload)
	return engine.Change{Needed: true, Effects: []engine.Effect{{
		Kind: engine.EffectObject, Target: "Pod " + pod.GetNamespace() + "/" + pod.GetName(), Action: "start, and delete when it is ready",
		Reason: "the Corefile changes, and a pod that serves nobody proves it",
	}}}, nil
}

// Apply starts the pod, waits until it is ready, and deletes it.
func (c *CorefileCheck) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	config, workload, err := c.wanted(actx)
	if err != nil {
		return nil, err
	}
	client, err := Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	pod, own := checkObjects(config, workload)
	// A run that was killed may have left others.
	if err := deleteChecks(ctx, client, pod.GetNamespace()); err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = deleteChecks(ctx, client, pod.GetNamespace()) // the next check deletes them
	}()
	for _, o := range []*unstructured.Unstructured{own, pod} {
		if err := client.Create(ctx, o); err != nil {
			return nil, fmt.Errorf("creating %s: %w", Describe(o), err)
		}
	}
	if err := c.awaitReady(ctx, client, pod); err != nil {
		return nil, fmt.Errorf("cluster DNS keeps its Corefile, because a pod with the new one does not become ready: %w", err)
	}
	return nil, nil
}

// awaitReady waits until the pod is ready. It fails as soon as its container has ended once.
func (c *CorefileCheck) awaitReady(ctx context.Context, client *Client, pod *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	problem := "it was not started"
	for {
		now, err := client.Get(ctx, PodKind(), pod.GetNamespace(), pod.GetName())
		switch {
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("reading %s: %w", Describe(pod), err)
		case err == nil && isReady(now):
			return nil
		case err == nil:
			if text := podProblem(ctx, client, now); text != "" {
				problem = text
			}
			if ended(now) {
				return errors.New(problem)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), problem)
		case <-tick.C:
		}
	}
}

// ended reports whether a container of the pod has ended.
func ended(pod *unstructured.Unstructured) bool {
	list, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, item := range list {
		status, _ := item.(map[string]any)
		if n, _, _ := unstructured.NestedInt64(status, "restartCount"); n > 0 {
			return true
		}
		if _, found, _ := unstructured.NestedMap(status, "state", "terminated"); found {
			return true
		}
	}
	return false
}

// wanted returns the ConfigMap and the Deployment of the template.
func (c *CorefileCheck) wanted(actx engine.ActionContext) (config, workload *unstructured.Unstructured, err error) {
	objects, err := Rendered(actx, c.Template)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range objects {
		switch {
		case o.GetKind() == "ConfigMap" && corefile(o) != "":
			config = o
		case o.GetKind() == "Deployment":
			workload = o
		}
	}
	if config == nil || workload == nil {
		return nil, nil, fmt.Errorf("%s has no ConfigMap with a %s, or no Deployment", c.Template, corefileKey)
	}
	return config, workload, nil
}

func corefile(config *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(config.Object, "data", corefileKey)
	return text
}

// checkObjects returns a pod as the Deployment makes them, but for its labels, and its ConfigMap. Their
// name has the digest of the Corefile.
func checkObjects(config, workload *unstructured.Unstructured) (pod, own *unstructured.Unstructured) {
	name := fmt.Sprintf("%s-check-%.4x", config.GetName(), sha256.Sum256([]byte(corefile(config))))
	head := func(kind string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
			"name": name, "namespace": config.GetNamespace(), "labels": map[string]any{labelCheck: corefileLabel, "app.kubernetes.io/managed-by": Manager},
		}}
	}
	own = &unstructured.Unstructured{Object: head("ConfigMap")}
	own.Object["data"] = map[string]any{corefileKey: corefile(config)}
	pod = &unstructured.Unstructured{Object: head("Pod")}
	spec, _, _ := unstructured.NestedMap(workload.DeepCopy().Object, "spec", "template", "spec")
	delete(spec, "topologySpreadConstraints") // they count pods with other labels
	volumes, _, _ := unstructured.NestedSlice(spec, "volumes")
	for _, item := range volumes {
		if volume, ok := item.(map[string]any)["configMap"].(map[string]any); ok && volume["name"] == config.GetName() {
			volume["name"] = name
		}
	}
	spec["volumes"] = volumes
	pod.Object["spec"] = spec
	return pod, own
}

// deleteChecks deletes the pods of checks and their ConfigMaps.
func deleteChecks(ctx context.Context, client *Client, namespace string) error {
	for _, kind := range []schema.GroupVersionKind{PodKind(), configMapKind()} {
		list, err := client.List(ctx, kind, namespace, v1.ListOptions{LabelSelector: labelCheck + "=" + corefileLabel})
		if err != nil {
			return fmt.Errorf("listing what a check of the Corefile has left: %w", err)
		}
		for i := range list {
			if err := client.Delete(ctx, kind, namespace, list[i].GetName(), 0); err != nil {
				return fmt.Errorf("deleting %s: %w", Describe(&list[i]), err)
			}
		}
	}
	return nil
}

func configMapKind() schema.GroupVersionKind { return kindOf("", "ConfigMap") }
