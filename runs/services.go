package runs

import (
	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/remote"
	"deployer/tasks/control"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
)

// clusterServices returns the services of actions and the calls of agents for a
// cluster; none without a cluster.
func clusterServices(c *cluster.Cluster) (engine.Services, map[string]remote.CallFunc) {
	services := engine.Services{}
	if c == nil {
		return services, nil
	}
	ring := &keyring.Keyring{}
	engine.Provide(services, ring)
	engine.Provide(services, kube.NewAccess(ring))
	engine.Provide(services, c)
	return services, control.Calls(ring, c)
}
