package rotation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
)

// serverLabel selects the Leases of API servers, which renew them every 10 s (Kubernetes
// documentation, "Leases", API server identity).
const serverLabel = "apiserver.kubernetes.io/identity=kube-apiserver"

// maxLeaseAge is the age of a Lease, relative to the newest one, from which its API server
// counts as gone. It allows for missed renewals and for the difference of two clocks.
const maxLeaseAge = 60 * time.Second

// requireAllServers returns an error when an API server may run without the keys of this
// run: on a master that has not registered its files, or on a host that is no master of
// the inventory.
func requireAllServers(ctx context.Context, actx engine.ActionContext, c *cluster.Cluster, found string) error {
	held := keyring.Found(actx, found)
	missing := slices.DeleteFunc(slices.Clone(c.Masters), func(master string) bool { return held[master] != nil })
	if len(missing) > 0 {
		return fmt.Errorf("%s did not report the keys of the API server: a rotation needs every master", strings.Join(missing, ", "))
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return err
	}
	kind := schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
	leases, err := kube.ListAs[coordinationv1.Lease](ctx, client, kind, "kube-system", v1.ListOptions{LabelSelector: serverLabel})
	if err != nil {
		return fmt.Errorf("listing the Leases of API servers: %w", err)
	}
	if running := renewed(leases); len(running) > len(c.Masters) {
		return fmt.Errorf("%d API servers run, on %s, and the inventory has %d masters: one that does not get the new key cannot read what the others write; "+
			"stop it, or add its host to the inventory", len(running), strings.Join(running, ", "), len(c.Masters))
	}
	return nil
}

// renewed returns the host names of the API servers that renew their Leases.
func renewed(leases []coordinationv1.Lease) []string {
	var newest time.Time
	for _, l := range leases {
		if t := l.Spec.RenewTime; t != nil && t.After(newest) {
			newest = t.Time
		}
	}
	var hosts []string
	for _, l := range leases {
		if t := l.Spec.RenewTime; t != nil && newest.Sub(t.Time) < maxLeaseAge {
			hosts = append(hosts, l.Labels["kubernetes.io/hostname"])
		}
	}
	slices.Sort(hosts)
	return hosts
}
