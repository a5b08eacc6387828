// Package observe reads what the keeper decides on: nodes and pods from the Kubernetes API, members
// from etcd, and whether hosts answer.
package observe

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/keeper/world"
	"deployer/tasks/control/kube"
)

// MaintenanceAnnotation is the annotation of a node with the mark of maintenance, a
// [world.Maintenance] as JSON.
const MaintenanceAnnotation = "deployer/maintenance"

// nodesPage is the number of nodes of one page: a Node has about 10 kB, half of it the list of images.
const nodesPage = 200

// node is the part of a Node that the keeper reads.
type node struct {
	Metadata struct {
		Name        string
		UID         string
		Annotations map[string]string
	}
	Status struct {
		Conditions []condition
		Addresses  []struct{ Type, Address string }
	}
}

type condition struct {
	Type               string
	Status             world.Readiness
	LastTransitionTime time.Time
}

// Nodes returns the nodes; masters and etcd are names of hosts in the inventory.
func Nodes(ctx context.Context, c *kube.Client, masters, etcd []string) ([]world.Node, error) {
	var out []world.Node
	seen := map[string]int{}
	err := kube.EachOfPages(ctx, c, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, nodesPage, func(n *node) {
		read := readNode(n)
		read.Master, read.Etcd = slices.Contains(masters, read.Name), slices.Contains(etcd, read.Name)
		if i, again := seen[read.Name]; again {
			out[i] = read
			return
		}
		seen[read.Name] = len(out)
		out = append(out, read)
	})
	return out, err
}

func readNode(n *node) world.Node {
	out := world.Node{Name: n.Metadata.Name, UID: n.Metadata.UID, Ready: world.Unknown, Maintenance: maintenanceOf(n.Metadata.Annotations[MaintenanceAnnotation])}
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			out.Ready, out.Since = c.Status, c.LastTransitionTime
		}
	}
	for _, a := range n.Status.Addresses {
		if a.Type == "InternalIP" && out.Address == "" {
			out.Address = a.Address
		}
	}
	return out
}

// maintenanceOf returns the mark in an annotation; one that is no mark counts as none.
func maintenanceOf(text string) *world.Maintenance {
	var mark world.Maintenance
	if text == "" || json.Unmarshal([]byte(text), &mark) != nil {
		return nil
	}
	return &mark
}
