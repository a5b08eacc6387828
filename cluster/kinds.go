package cluster

import (
	"fmt"
	"strings"
)

// The kinds of API proxy.
const (
	ProxyNginx   = "nginx"
	ProxyHAProxy = "haproxy"
)

// InitialCluster is etcd's flag of that name for a list of peers.
func InitialCluster(peers []Endpoint) string {
	var parts []string
	for _, p := range peers {
		parts = append(parts, fmt.Sprintf("%s=%s", p.Name, p.URL))
	}
	return strings.Join(parts, ",")
}
