package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/compile"
	"deployer/engine/journal"
	"deployer/engine/lang"
	"deployer/engine/lock"
	"deployer/engine/remote"
	"deployer/engine/schedule"
	"deployer/engine/session"
	"deployer/engine/transport/ssh"
	"deployer/engine/view"
	"deployer/inventory"
	"deployer/tasks"
)

// Controller runs a playbook on the hosts of an inventory, with the parts of package
// runs that the tests need.
type Controller struct {
	Inventory *inventory.Inventory
	// Playbook holds the file Main, with its templates/ and files/.
	Playbook fs.FS
	Main     string
	// Blobs has the content for hosts; required.
	Blobs *Blobs
	// Peers has hosts send blobs to each other; may be nil.
	Peers remote.Peers
	// Sink gets the events, without secrets; may be nil.
	Sink engine.Sink
	// JournalDir is the directory of the run's journal; empty for none.
	JournalDir string
	Check      bool
	Retry      session.Retry
	// LockTimeout is the time to wait for the locks of other runs.
	LockTimeout time.Duration
	// IdleTimeout overrides, by host, the time without a byte after which a connection
	// counts as lost.
	IdleTimeout map[string]time.Duration
}

// Run executes the playbook with a new run id.
func (c Controller) Run(ctx context.Context, id string) (*engine.Report, error) {
	library := compile.Compiler{Registry: engine.NewRegistry(tasks.Modules()), Match: c.Inventory.Match}
	prog, err := library.Compile(lang.Tree{Name: "playbook", FS: c.Playbook}, c.Main)
	if err != nil {
		return nil, err
	}
	sinks, log, err := c.sinks(id)
	if err != nil {
		return nil, err
	}
	sink, redactor := view.Tee(sinks...), schedule.NewRedactor(c.Inventory.Secrets())
	conn := newConnector(c, redactor.Wrap(sink))
	defer conn.dialer.Close()
	var claim *session.LockOptions
	if !c.Check {
		claim = &session.LockOptions{Holder: lock.Holder{Run: id, Verb: "run", By: "fleet", Since: time.Now()}, MaxWait: c.LockTimeout}
	}
	report, err := schedule.Run(ctx, prog, schedule.Options{
		RunID: id, CheckOnly: c.Check, Hosts: c.Inventory.Names(), Match: c.Inventory.Match, Vars: c.vars(),
		Registry: library.Registry, Connector: conn, Blobs: c.Blobs, Forks: c.Inventory.Forks, Budget: c.Inventory.MaxFail,
		ProtectedGroups: []string{cluster.RoleMaster, cluster.RoleEtcd},
		Lock:            claim, Retry: c.Retry, Sink: sink, Redactor: redactor,
	})
	if log != nil {
		err = errors.Join(err, log.Close())
	}
	return report, err
}

func (c Controller) sinks(id string) ([]engine.Sink, *journal.Log, error) {
	var sinks []engine.Sink
	if c.Sink != nil {
		sinks = append(sinks, c.Sink)
	}
	if c.JournalDir == "" {
		return sinks, nil, nil
	}
	log, err := journal.Create(c.JournalDir, journal.Header{Run: id, Invocation: journal.Invocation{Verb: "run", Playbook: c.Main}, Started: time.Now()})
	if err != nil {
		return nil, nil, err
	}
	return append(sinks, log), log, nil
}

// vars are the variables of the tasks of a host.
func (c Controller) vars() func(host string) (map[string]any, error) {
	groups := map[string]any{}
	for name, hosts := range c.Inventory.Table() {
		list := make([]any, len(hosts))
		for i, h := range hosts {
			list[i] = h
		}
		groups[name] = list
	}
	return func(host string) (map[string]any, error) {
		h, ok := c.Inventory.Host(host)
		if !ok {
			return nil, fmt.Errorf("%s is not in the inventory", host)
		}
		vars := maps.Clone(h.Vars)
		if vars == nil {
			vars = map[string]any{}
		}
		vars["host"] = map[string]any{"name": h.Name, "address": h.Address}
		vars["groups"] = groups
		return vars, nil
	}
}

// connector opens agent sessions over SSH.
type connector struct {
	controller Controller
	dialer     *ssh.Dialer
	binaries   *remote.Binaries
	sink       engine.Sink
}

func newConnector(c Controller, sink engine.Sink) *connector {
	return &connector{
		controller: c, sink: sink, binaries: remote.NewBinaries(agentProgram{}),
		dialer: ssh.NewDialer(ssh.Options{}),
	}
}

// Target returns the SSH target of a host of the fleet's inventory.
func Target(h inventory.Host) ssh.Target {
	return ssh.Target{
		Host: h.Name, Address: h.Address, Port: h.SSH.Port, User: h.SSH.User, Keys: []string{h.SSH.Key}, NoAgent: !h.SSH.Agent,
		KnownHosts: []string{h.SSH.KnownHosts}, HostKeys: ssh.Policy(h.SSH.HostKeys), Timeout: h.SSH.ConnectTimeout,
	}
}

// Connect implements session.Connector.
func (c *connector) Connect(ctx context.Context, host string) (session.Session, error) {
	h, ok := c.controller.Inventory.Host(host)
	if !ok {
		return nil, fmt.Errorf("%s is not in the inventory", host)
	}
	conn, err := c.dialer.Dial(ctx, Target(h))
	if err != nil {
		return nil, err
	}
	silence := c.controller.IdleTimeout[host]
	opened, err := remote.Connect(ctx, conn, remote.Options{
		Host: host, Binaries: c.binaries, Become: remote.Become(h.SSH.Become), Blobs: c.controller.Blobs, Peers: c.controller.Peers, Sink: c.sink, IdleTimeout: silence, Heartbeat: silence / 5,
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// agentProgram stands for the agent, which the hosts have already.
type agentProgram struct{}

// AgentBinary implements remote.BinarySource.
func (agentProgram) AgentBinary(string) ([]byte, error) { return nil, errors.New("the hosts have it") }

// AgentGzip implements remote.BinarySource.
func (agentProgram) AgentGzip(string) ([]byte, error) { return nil, errors.New("the hosts have it") }

// AgentDigest implements remote.BinarySource.
func (agentProgram) AgentDigest(string) (string, error) { return "digest", nil }
