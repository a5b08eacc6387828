package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/test/bench/kube"
)

// atOnce is the number of objects that are created at one time.
const atOnce = 16

// settleTime is the maximum time until all nodes are Ready, or all pods available.
const settleTime = 10 * time.Minute

// app is one Deployment with its PodDisruptionBudget.
type app struct {
	name     string
	replicas int
	needed   int // pods that the budget requires to be available
}

// apps returns Deployments of several sizes with about that number of pods in all.
func apps(pods int) []app {
	sizes := []struct{ replicas, needed int }{{2, 1}, {3, 2}, {5, 4}, {10, 8}, {30, 27}, {100, 92}}
	var out []app
	for i := 0; pods > 0; i++ {
		size := sizes[i%len(sizes)]
		if size.replicas > pods {
			size = sizes[0]
		}
		out = append(out, app{name: fmt.Sprintf("app-%03d", i), replicas: size.replicas, needed: size.needed})
		pods -= size.replicas
	}
	return out
}

// object is an object of the API as JSON.
type object = map[string]any

// node returns the Node object of a minion; KWOK adds its status.
func node(name, zone string) object {
	return object{"apiVersion": "v1", "kind": "Node", "metadata": object{
		"name":   name,
		"labels": object{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", zoneLabel: zone},
	}}
}

// deployment returns the Deployment. Its containers never start: KWOK simulates them.
func (a app) deployment() object {
	labels := object{"app": a.name}
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": a.name}, "spec": object{
		"replicas": a.replicas, "selector": object{"matchLabels": labels},
		"template": object{"metadata": object{"labels": labels}, "spec": object{
			"automountServiceAccountToken": false, "terminationGracePeriodSeconds": 5,
			"containers": []object{{"name": "app", "image": "registry.k8s.io/pause:3.10.1", "resources": object{"requests": object{"cpu": "100m", "memory": "64Mi"}}}},
			"volumes":    []object{{"name": "scratch", "emptyDir": object{}}},
		}},
	}}
}

func (a app) service() object {
	return object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": a.name}, "spec": object{
		"selector": object{"app": a.name}, "ports": []object{{"port": 80}},
	}}
}

// budget returns the PodDisruptionBudget, with the limit as minAvailable or, for odd
// apps, as maxUnavailable.
func (a app) budget(odd bool) object {
	spec := object{"selector": object{"matchLabels": object{"app": a.name}}}
	if odd {
		spec["maxUnavailable"] = a.replicas - a.needed
	} else {
		spec["minAvailable"] = a.needed
	}
	return object{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": object{"name": a.name}, "spec": spec}
}

// createNodes creates the nodes of all minions.
func (o options) createNodes(ctx context.Context, a *kube.API) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := 1; i <= o.nodes; i++ {
		group.Go(func() error {
			return a.Do(ctx, http.MethodPost, "/api/v1/nodes", node(hostName(i), o.zoneOf(i)), nil)
		})
	}
	return group.Wait()
}

// createApps creates Deployments with their Services and budgets.
func createApps(ctx context.Context, a *kube.API, all []app) error {
	const namespace = "/namespaces/default/"
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, app := range all {
		group.Go(func() error {
			if err := a.Do(ctx, http.MethodPost, "/apis/policy/v1"+namespace+"poddisruptionbudgets", app.budget(i%2 == 1), nil); err != nil {
				return err
			}
			if err := a.Do(ctx, http.MethodPost, "/api/v1"+namespace+"services", app.service(), nil); err != nil {
				return err
			}
			return a.Do(ctx, http.MethodPost, "/apis/apps/v1"+namespace+"deployments", app.deployment(), nil)
		})
	}
	return group.Wait()
}
