// Package inuse reads the state of a cluster in use before a run changes anything: the names
// and settings in the files of the hosts, the members of etcd, the nodes and the range of
// Services. Package compare decides by it what the run must not change. The package changes
// nothing, and a cluster that does not answer is no failure: the files of the hosts decide then.
package inuse

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"deployer/cluster"
	"deployer/cluster/compare"
	"deployer/engine"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
	"deployer/tasks/control/routes"
)

// Sources are the names under which hosts registered their state.
type Sources struct {
	Settings string // running_settings
	Network  string // the files of the pod network
	// Leaving are the nodes and members that the run takes out of the cluster.
	Leaving []string
	// HostsOnly is true for a run that makes etcd or the API again: their present answers say
	// nothing about the cluster that it makes.
	HostsOnly bool
	// ChangesPlugin is true for a run that replaces the network plugin of nodes in use.
	ChangesPlugin bool
	// DropsPolicies is true when the user accepts that no policy is enforced any more.
	DropsPolicies bool
}

// apiTimeout is the maximum time of all requests to the API together, that is, the delay of a
// run that repairs a cluster without an API.
const apiTimeout = 15 * time.Second

// Conflicts returns a row for each reason why a run must not change the cluster, none for a new
// one. It warns of what a changed setting does not reach.
func Conflicts(ctx context.Context, actx engine.ActionContext, c *cluster.Cluster, from Sources) []report.Row {
	found := compare.InUse{Hosts: hosts(actx, from), Leaving: from.Leaving, ChangesPlugin: from.ChangesPlugin, DropsPolicies: from.DropsPolicies}
	installed := false
	for _, h := range found.Hosts {
		installed = installed || h.ServiceCIDR != ""
	}
	var conflicts []compare.Conflict
	switch {
	case from.HostsOnly || !installed:
		conflicts = compare.Identities(c, found)
	default:
		ask(ctx, actx, c, &found)
		conflicts = compare.Conflicts(c, found)
		for _, text := range compare.Warnings(c, found) {
			actx.Warn(text)
		}
	}
	var rows []report.Row
	for _, one := range conflicts {
		rows = append(rows, report.Bad(one.Subject, one.Host, "%s", one.Detail).Advised(one.Fix))
	}
	return rows
}

// hosts returns what the files of the hosts say.
func hosts(actx engine.ActionContext, from Sources) map[string]compare.HostInUse {
	out := map[string]compare.HostInUse{}
	for _, host := range actx.Targets() {
		set := actx.Registered(host, from.Settings)
		text := func(key string) string { s, _ := set[key].(string); return s }
		network := actx.Registered(host, from.Network)
		addresses, _ := set["virtual_ips"].([]any)
		maxPods, _ := strconv.Atoi(text("max_pods")) // 0: not known
		out[host] = compare.HostInUse{
			Node: text("node"), Member: text("member"), Domain: text("domain"), IssuerDomain: text("issuer_domain"),
			ServiceCIDR: text("service_cidr"), CNI: text("cni"), Plugin: text("network_plugin"), Calico: text("calico_version"), Datastore: text("calico_datastore"), KubeProxy: text("kube_proxy"), APIProxy: text("api_proxy"),
			VirtualIPs: texts(addresses), PodCIDR: kube.RangeIn(network), MaxPods: maxPods, Peers: routes.PeerNames(network),
		}
	}
	return out
}

// texts returns those of a host's claims that are texts.
func texts(all []any) []string {
	var out []string
	for _, one := range all {
		if s, ok := one.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// ask fills in what etcd and the API answer. It reads the cluster's keys into a keyring of its
// own: the keyring of the run is filled by the tasks that compare the keys of all masters.
func ask(ctx context.Context, actx engine.ActionContext, c *cluster.Cluster, found *compare.InUse) {
	ring := &keyring.Keyring{}
	if err := keyring.Ensure(ctx, actx, ring); err != nil {
		return
	}
	if open, err := etcd.OpenWith(ctx, actx, ring, c.Etcd); err == nil {
		found.Etcd = etcd.Take(ctx, open, etcd.Hosts(c.Etcd)).Live()
	}
	client, err := kube.OpenWith(ctx, actx, ring)
	if err != nil {
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	if _, ready := client.FindReady(ctx); ready {
		client = client.WithRetryTimeout(-1)
		readAPI(ctx, client, found)
		if c.Network.Plugin == cluster.PluginCalico || found.ChangesPlugin {
			if store, err := storeOf(ctx, actx, ring, c, client); err == nil {
				readPools(ctx, store, found)
				if c.Network.Plugin == cluster.PluginCalico && compare.PoolsAreNew(c, *found) {
					readBlocks(ctx, store, found)
				}
			}
		}
		if c.Network.Plugin == cluster.PluginBGP && found.ChangesPlugin {
			readCalico(ctx, client, found)
		}
	}
}

// storeOf returns the datastore of Calico, with the keys of a ring for its etcd.
func storeOf(ctx context.Context, actx engine.ActionContext, ring *keyring.Keyring, c *cluster.Cluster, client *kube.Client) (datastore.Store, error) {
	if c.EtcdCalico == nil {
		return datastore.Kubernetes(client), nil
	}
	open, err := etcd.OpenWith(ctx, actx, ring, *c.EtcdCalico)
	return datastore.InEtcd(etcd.NewKeyspace(open, etcd.Hosts(*c.EtcdCalico), 0)), err
}

// readAPI fills in the nodes and the range of Services; nothing when one cannot be read.
func readAPI(ctx context.Context, client *kube.Client, found *compare.InUse) {
	states, err := kube.Nodes(ctx, client, nil)
	if err != nil {
		return
	}
	var services compare.ServicesInUse
	var ranges networkingv1.ServiceCIDR
	var kubernetes corev1.Service
	if read(ctx, client, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes", &ranges) != nil ||
		read(ctx, client, "/api/v1/namespaces/default/services/kubernetes", &kubernetes) != nil {
		return
	}
	services.CIDRs, services.IP = ranges.Spec.CIDRs, kubernetes.Spec.ClusterIP
	found.Services, found.Nodes = &services, []compare.NodeInUse{}
	for _, s := range states {
		found.Nodes = append(found.Nodes, compare.NodeInUse{Name: s.Name, PodCIDR: s.PodCIDR})
	}
}

// readPools fills in Calico's pools; none when they cannot be read, as in a cluster whose Calico is
// not installed yet.
func readPools(ctx context.Context, store datastore.Store, found *compare.InUse) {
	pools := []compare.PoolInUse{}
	err := store.Pools(ctx, func(p datastore.Pool) {
		if slices.ContainsFunc(pools, func(q compare.PoolInUse) bool { return q.Name == p.Name }) {
			return // visited twice
		}
		pools = append(pools, compare.PoolInUse{Name: p.Name, CIDR: p.CIDR, BlockSize: p.BlockSize, IPIPMode: p.IPIPMode, VXLANMode: p.VXLANMode})
	})
	if err == nil && len(pools) > 0 {
		found.Pools = pools
	}
}

// readBlocks fills in Calico's blocks, as far as they can be read.
func readBlocks(ctx context.Context, store datastore.Store, found *compare.InUse) {
	_ = store.Blocks(ctx, func(b datastore.Block) {
		block := compare.BlockInUse{CIDR: b.CIDR, Node: strings.TrimPrefix(b.Affinity, "host:")}
		for _, a := range b.Allocations {
			if a != nil {
				block.Used++
			}
		}
		found.Blocks = append(found.Blocks, block)
	})
}

// read reads one object. An object that the API does not have or does not know stays empty.
func read(ctx context.Context, client *kube.Client, path string, into any) error {
	status, body, err := client.Raw(ctx, http.MethodGet, path, nil)
	switch {
	case err != nil:
		return err
	case status == http.StatusNotFound:
		return nil
	case status != http.StatusOK:
		return &statusError{status}
	}
	return json.Unmarshal(body, into)
}

type statusError struct{ status int }

func (e *statusError) Error() string { return http.StatusText(e.status) }
