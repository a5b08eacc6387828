package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/test/bench/kube"
)

// podsPerApp is the number of pods of each app: a ReplicaSet with a Service.
const podsPerApp = 100

// creating is the number of objects that are created at one time.
const creating = 32

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

// createPods creates pods on nodes in turns, with the labels of their apps. A scheduler would do the
// same with four times as many writes, which take minutes of two processors.
func createPods(ctx context.Context, a *kube.API, pods, nodes int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creating)
	for i := range pods {
		pod := podTemplate(appName(i / podsPerApp))
		pod["apiVersion"], pod["kind"] = "v1", "Pod"
		pod["metadata"].(object)["name"] = fmt.Sprintf("%s-%02d", appName(i/podsPerApp), i%podsPerApp)
		pod["spec"].(object)["nodeName"] = nodeName(i % nodes)
		group.Go(func() error { return a.Do(ctx, http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods", pod, nil) })
	}
	return group.Wait()
}

// createApps creates ReplicaSets, which adopt the pods, and their Services.
func createApps(ctx context.Context, a *kube.API, pods int) error {
	const path = "/namespaces/" + namespace
	for i := range (pods + podsPerApp - 1) / podsPerApp {
		name := appName(i)
		replicas := object{"metadata": object{"name": name}, "spec": object{
			"replicas": min(podsPerApp, pods-i*podsPerApp), "selector": object{"matchLabels": object{"app": name}}, "template": podTemplate(name),
		}}
		if err := a.Do(ctx, http.MethodPost, "/apis/apps/v1"+path+"/replicasets", replicas, nil); err != nil {
			return err
		}
		if err := a.Do(ctx, http.MethodPost, "/api/v1"+path+"/services", service(name), nil); err != nil {
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

// deployment returns a Deployment.
func deployment(name string, replicas int) object {
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name}, "spec": object{
		"replicas": replicas, "selector": object{"matchLabels": object{"app": name}}, "template": podTemplate(name),
	}}
}

// podTemplate returns a pod of an app. Its containers never start: KWOK plays them.
func podTemplate(app string) object {
	var tolerations []object
	for _, taint := range []string{"not-ready", "unreachable"} {
		tolerations = append(tolerations, object{"key": "node.kubernetes.io/" + taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int(evictAfter.Seconds())})
	}
	return object{"metadata": object{"labels": object{"app": app}}, "spec": object{
		"terminationGracePeriodSeconds": 5, "tolerations": tolerations,
		"containers": []object{{"name": "app", "image": "registry.k8s.io/pause:3.10.1", "resources": object{"requests": object{"cpu": "100m", "memory": "64Mi"}}}},
	}}
}
