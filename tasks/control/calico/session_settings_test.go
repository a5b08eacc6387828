package calico

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/calico/calicotest"
	"deployer/tasks/control/keyring"
)

// TestSessionSettingsAreReadBack: the settings that objects get are those that the next run finds in them.
func TestSessionSettingsAreReadBack(t *testing.T) {
	c := resolved(t)
	for _, settings := range []sessionSettings{{restartTime: restartTime}, {passwordKey: nodePasswords + "1", restartTime: restartTime}} {
		config, peer := bgpConfiguration(c.Network, true, settings), bgpPeer(cluster.PeerTransition, settings)
		if got := settingsOf(config); got != settings {
			t.Errorf("of the mesh: %v, want %v", got, settings)
		}
		if got := settingsOf(peer); got != settings {
			t.Errorf("of the BGPPeer: %v, want %v", got, settings)
		}
		for _, version := range calicotest.Versions() {
			for _, o := range []map[string]any{config.Object, peer.Object} {
				if err := calicotest.Validate(version, o); err != nil {
					t.Errorf("%s: %v", version, err)
				}
			}
		}
	}
	// Calico refuses settings of a mesh without a mesh.
	if got := settingsOf(bgpConfiguration(c.Network, false, sessionSettings{nodePasswords + "1", restartTime})); got != (sessionSettings{}) {
		t.Errorf("without a mesh: %v", got)
	}
}

func TestWantedSettings(t *testing.T) {
	first, second := nodePasswords+"1", nodePasswords+"2"
	for name, c := range map[string]struct {
		has       map[string]string
		password  string
		key       string
		passwords map[string]string
	}{
		"none":           {map[string]string{}, "", "", map[string]string{}},
		"the first":      {map[string]string{"deployer.tor.1": "r"}, "a", first, map[string]string{"deployer.tor.1": "r", first: "a"}},
		"the same":       {map[string]string{first: "a"}, "a", first, map[string]string{first: "a"}},
		"another":        {map[string]string{first: "a"}, "b", second, map[string]string{first: "a", second: "b"}},
		"none any more":  {map[string]string{first: "a"}, "", "", map[string]string{first: "a"}},
		"of a dead run":  {map[string]string{first: "a", second: "b"}, "b", second, map[string]string{first: "a", second: "b"}},
		"the tenth":      {map[string]string{nodePasswords + "9": "b", nodePasswords + "10": "a"}, "a", nodePasswords + "10", map[string]string{nodePasswords + "9": "b", nodePasswords + "10": "a"}},
		"back to former": {map[string]string{first: "a", second: "b"}, "a", first, map[string]string{first: "a", second: "b"}},
	} {
		got, passwords := sessions{passwords: c.has}.wantedSettings(c.password)
		if diff := cmp.Diff(c.passwords, passwords); got.passwordKey != c.key || diff != "" {
			t.Errorf("%s: key %q, want %q\n%s", name, got.passwordKey, c.key, diff)
		}
	}
	kept := keepOnly(map[string]string{"deployer.tor.1": "r", first: "a", second: "b"}, second)
	if diff := cmp.Diff(map[string]string{"deployer.tor.1": "r", second: "b"}, kept); diff != "" {
		t.Error(diff)
	}
}

// TestPasswordOfSessions: auto keeps whether sessions have a password, and none needs no keys.
func TestPasswordOfSessions(t *testing.T) {
	key := nodePasswords + "1"
	with := sessions{settings: []sessionSettings{{}, {passwordKey: key}}, passwords: map[string]string{key: "a"}}
	without := sessions{settings: []sessionSettings{{}}, canarySettings: []sessionSettings{{passwordKey: key}}, passwords: with.passwords}
	fresh := sessions{CalicoRoutes: cluster.CalicoRoutes{New: true}}
	empty, noKeys := engine.Services{}, engine.Services{}
	engine.Provide(empty, &keyring.Keyring{})
	for name, c := range map[string]struct {
		mode     string
		have     sessions
		services engine.Services
		check    bool
		want     string
		ok       bool
	}{
		"auto keeps a password without keys": {cluster.AuthenticationAuto, with, empty, false, "a", true},
		"auto keeps none":                    {cluster.AuthenticationAuto, without, noKeys, false, "", true},
		"none":                               {cluster.AuthenticationNone, with, noKeys, false, "", true},
		"md5 needs keys":                     {cluster.AuthenticationMD5, with, empty, false, "", false},
		"a dry run of a new cluster":         {cluster.AuthenticationMD5, fresh, empty, true, "", true},
	} {
		spec := resolved(t)
		spec.Network.Authentication = c.mode
		got, err := wantedPassword(&actiontest.Context{Provided: c.services, Check: c.check}, spec, c.have)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestRestartsOfSessions(t *testing.T) {
	former, wanted := sessionSettings{restartTime: restartTime}, sessionSettings{nodePasswords + "1", restartTime}
	for name, c := range map[string]struct {
		have            sessions
		restarts, begun bool
		former          sessionSettings
	}{
		"as wanted":            {sessions{settings: []sessionSettings{wanted}}, false, true, wanted},
		"all change":           {sessions{settings: []sessionSettings{former, former}}, true, false, former},
		"a run was killed":     {sessions{settings: []sessionSettings{wanted, former}}, true, true, former},
		"in its canary":        {sessions{settings: []sessionSettings{former}, canarySettings: []sessionSettings{wanted}}, true, false, former},
		"a canary of another":  {sessions{settings: []sessionSettings{wanted}, canarySettings: []sessionSettings{former}}, true, true, wanted},
		"no sessions of nodes": {sessions{}, false, false, wanted},
	} {
		if got := c.have; got.restarts(wanted) != c.restarts || got.begun(wanted) != c.begun || got.formerSettings(wanted) != c.former {
			t.Errorf("%s: %v %v %v, want %v %v %v", name, got.restarts(wanted), got.begun(wanted), got.formerSettings(wanted), c.restarts, c.begun, c.former)
		}
	}
}

// TestSettledSettings: no stage gives all sessions settings that a node has not survived.
func TestSettledSettings(t *testing.T) {
	has := sessions{settings: []sessionSettings{{restartTime: restartTime}}, canaries: []string{"n1"}}
	for name, c := range map[string]struct {
		mesh     Mesh
		password string
		ok       bool
	}{
		"the canary begins":     {Mesh{Stage: stageCanary}, "a", true},
		"the canary is proven":  {Mesh{Stage: stageSettings, Canary: "n1"}, "a", true},
		"the canary has failed": {Mesh{Stage: stageSettings, Canary: "n2"}, "a", false},
		"a node has failed":     {Mesh{Stage: stageBegin}, "a", false},
		"and the run ends":      {Mesh{Stage: stageEnd}, "a", false},
		"nothing changes":       {Mesh{Stage: stageEnd}, "", true},
		"the way back":          {Mesh{Stage: stageSettings, Former: &Former{}}, "a", true},
	} {
		if err := c.mesh.settled(has, c.password); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestObjectsOfStages: the canary has a BGPPeer of its own, and the Secret loses former passwords at the end.
func TestObjectsOfStages(t *testing.T) {
	c, key := resolved(t), nodePasswords+"1"
	has := sessions{CalicoRoutes: cluster.CalicoRoutes{Mesh: true, Peers: []string{cluster.PeerCanary}}, passwords: map[string]string{key: "former"}}
	former := Mesh{Stage: stageSettings, Former: &Former{PasswordKey: key, RestartTime: restartTime}}
	for mesh, want := range map[*Mesh]map[string]string{ // objects, with the key of their password
		{Stage: stageCanary}:   {"deployer-canary": nodePasswords + "2", "calico-bgp-passwords": "deployer._nodes.1 deployer._nodes.2"},
		{Stage: stageSettings}: {"default": nodePasswords + "2", "deployer-canary": nodePasswords + "2", "calico-bgp-passwords": "deployer._nodes.1 deployer._nodes.2"},
		&former:                {"default": key, "deployer-canary": key, "calico-bgp-passwords": "deployer._nodes.1"},
		{Stage: stageEnd}:      {"default": nodePasswords + "2", "calico-bgp-passwords": "deployer._nodes.2"},
	} {
		objects, secret, _ := mesh.objects(c, has, "new")
		passwords, err := ownPasswords(secret)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{secret.GetName(): strings.Join(slices.Sorted(maps.Keys(passwords)), " ")}
		for _, o := range objects {
			got[o.GetName()] = settingsOf(o).passwordKey
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", *mesh, diff)
		}
	}
}

func TestCanary(t *testing.T) {
	c := resolved(t)
	all := c.NodeNames
	mesh := sessions{CalicoRoutes: cluster.CalicoRoutes{Mesh: true}, nodes: all}
	reflected := sessions{CalicoRoutes: cluster.CalicoRoutes{Reflectors: []string{"m1", "n1"}}, nodes: all}
	for name, f := range map[string]struct {
		have  sessions
		inRun []string
		want  canary
	}{
		"a minion of a mesh": {mesh, []string{"m1", "n1", "n2"}, canary{node: "n1", mesh: true, sessions: []string{"Node_10_0_0_1", "Node_10_0_0_5"}}},
		"a master":           {mesh, []string{"m1", "m2"}, canary{node: "m1", mesh: true, sessions: []string{"Node_10_0_0_2"}}},
		"no reflector":       {reflected, all, canary{node: "n2", sessions: []string{"Node_10_0_0_1", "Node_10_0_0_4"}}},
		"all reflect":        {reflected, []string{"m1", "n1"}, canary{node: "m1", reflector: true, sessions: []string{"Node_10_0_0_4"}}},
		"reflectors change":  {sessions{CalicoRoutes: cluster.CalicoRoutes{Mesh: true, Peers: []string{cluster.PeerTransition}}, nodes: all}, all, canary{mesh: true}},
		"of a killed run": {sessions{CalicoRoutes: cluster.CalicoRoutes{Mesh: true, Reflectors: []string{"n2"}}, nodes: all, canaries: []string{"n2"}}, []string{"m1", "n1", "n2"},
			canary{node: "n2", mesh: true, leftover: true, sessions: []string{"Node_10_0_0_1", "Node_10_0_0_4"}}},
		"a node alone": {sessions{CalicoRoutes: cluster.CalicoRoutes{Mesh: true}, nodes: []string{"m1"}}, []string{"m1"}, canary{mesh: true}},
	} {
		if diff := cmp.Diff(f.want, canaryOf(c, f.have, f.inRun), cmp.AllowUnexported(canary{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestRoutersKeepPasswordsOfNodes: the Secret has the passwords of both, and each action changes its own.
func TestRoutersKeepPasswordsOfNodes(t *testing.T) {
	key := nodePasswords + "1"
	want, found := routers{passwords: map[string]string{}}, routers{passwords: map[string]string{key: "a", "deployer.tor.1": "r"}}
	secret, _ := (&Routers{Stage: stageEnd}).changes(want, found)
	passwords, err := ownPasswords(secret)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{key: "a"}, passwords); diff != "" {
		t.Error(diff)
	}
}
