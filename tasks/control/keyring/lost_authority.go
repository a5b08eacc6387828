package keyring

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// refuseNewAuthority returns an error when authorities would be made although hosts have
// parts of a cluster: its masters have lost their files. Nodes and members of etcd would
// not trust the new ones.
func (l *Load) refuseNewAuthority(actx engine.ActionContext, made []string) error {
	c, ok := engine.Service[*cluster.Cluster](actx.Services())
	if !ok || l.Existing || !slices.Contains(made, ClusterCert) {
		return nil
	}
	var members []string
	for _, peer := range c.Etcd.Peers {
		members = append(members, peer.Name)
	}
	var parts []string
	if nodes := thatExist(actx, c.NodeNames, l.Nodes); len(nodes) > 0 {
		parts = append(parts, "a kubelet runs on "+strings.Join(nodes, ", "))
	}
	if data := thatExist(actx, members, l.Etcd); len(data) > 0 {
		parts = append(parts, "etcd has data on "+strings.Join(data, ", "))
	}
	if len(parts) == 0 {
		return nil
	}
	return fmt.Errorf("no master holds the cluster's authorities, but %s: these hosts would not trust new ones. "+
		"Restore the cluster from a backup with its keys: deployer etcd restore SNAPSHOT --keys FILE --identity FILE. "+
		"For a new cluster clean the hosts first: deployer reset", strings.Join(parts, " and "))
}

// thatExist returns the hosts whose stat under the registered name found something.
func thatExist(actx engine.ActionContext, hosts []string, registered string) []string {
	return slices.DeleteFunc(slices.Clone(hosts), func(host string) bool {
		return registered == "" || actionctx.Registered(actx, host, registered)["exists"] != true
	})
}
