package runs

import (
	"deployer/engine"
	"deployer/engine/remote"
	"deployer/project"
	"deployer/shellquote"
	"deployer/tasks/control"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/preflight"
)

// clusterServices returns the services of actions and the calls of agents for the
// cluster of a project; none without a cluster.
func clusterServices(p *project.Project) (engine.Services, map[string]remote.CallFunc) {
	services, c := engine.Services{}, p.Cluster
	if c == nil {
		return services, nil
	}
	ring := &keyring.Keyring{}
	engine.Provide(services, ring)
	engine.Provide(services, kube.NewAccess(ring))
	engine.Provide(services, c)
	file := shellquote.Word(p.Inventory.File)
	engine.Provide(services, preflight.Commands{Upgrade: "deployer upgrade -i " + file, ScaleUp: "deployer scale-up -i " + file})
	return services, control.Calls(ring, c)
}
