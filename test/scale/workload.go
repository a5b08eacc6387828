package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/test/bench/kube"
)

// podsPerApp is the number of pods of each Deployment, which has a Service.
const podsPerApp = 100

// creating is the number of objects that are created at one time.
const creating = 16

// evictAfter is the time that pods tolerate a node that is not Ready. Kubernetes' default is 300 s,
// which would only be waited for.
const evictAfter = 30 * time.Second

// object is an object of the API as JSON.
type object = map[string]any

func appName(i int) string { return fmt.Sprintf("app-%03d", i) }

// createNodes creates the Node objects.
func createNodes(ctx context.Context, a *kube.API, nodes int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creating)
	for i := range nodes {
		group.Go(func() error { return a.Do(ctx, http.MethodPost, "/api/v1/nodes", nodeObject(nodeName(i)), nil) })
	}
	return group.Wait()
}

// createApps creates Deployments with that number of pods in all, and their Services.
func createApps(ctx context.Context, a *kube.API, pods int) error {
	const path = "/namespaces/" + namespace
	for i := range (pods + podsPerApp - 1) / podsPerApp {
		if err := a.Do(ctx, http.MethodPost, "/api/v1"+path+"/services", service(appName(i)), nil); err != nil {
			return err
		}
		if err := a.Do(ctx, http.MethodPost, "/apis/apps/v1"+path+"/deployments", deployment(appName(i), min(podsPerApp, pods-i*podsPerApp)), nil); err != nil {
			return err
		}
	}
	return nil
}

// prepareProber gives the prober all rights and an object to change.
func prepareProber(ctx context.Context, a *kube.API) error {
	if err := a.Do(ctx, http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", object{
		"metadata": object{"name": proberUser},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []object{{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": proberUser}},
	}, nil); err != nil {
		return err
	}
	return a.Do(ctx, http.MethodPost, "/api/v1/namespaces/"+namespace+"/configmaps", object{"metadata": object{"name": probeMap}}, nil)
}

func nodeObject(name string) object {
	return object{"apiVersion": "v1", "kind": "Node", "metadata": object{
		"name": name, "labels": object{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
	}}
}

func service(name string) object {
	return object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name}, "spec": object{
		"selector": object{"app": name}, "ports": []object{{"port": 80}},
	}}
}

// deployment returns a Deployment. Its containers never start: KWOK plays them.
func deployment(name string, replicas int) object {
	labels := object{"app": name}
	var tolerations []object
	for _, taint := range []string{"not-ready", "unreachable"} {
		tolerations = append(tolerations, object{"key": "node.kubernetes.io/" + taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int(evictAfter.Seconds())})
	}
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name}, "spec": object{
		"replicas": replicas, "selector": object{"matchLabels": labels},
		"template": object{"metadata": object{"labels": labels}, "spec": object{
			"terminationGracePeriodSeconds": 5, "tolerations": tolerations,
			"containers": []object{{"name": "app", "image": "registry.k8s.io/pause:3.10.1", "resources": object{"requests": object{"cpu": "100m", "memory": "64Mi"}}}},
		}},
	}}
}
