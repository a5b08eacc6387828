package calico

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/keyring"
)

// restartTime is the time for which other nodes keep the routes of a node whose BIRD does not run. It is
// longer than the gate of role calico-node (3 minutes) and the restore of the former calico-node after it;
// BIRD's default is 120 s.
const restartTime = "300s"

// nodePasswords is the prefix of the keys of passwords of sessions between nodes in the Secret. No router
// can have this name.
const nodePasswords = passwordKeys + "_nodes."

// sessionSettings are the settings of sessions between nodes that restart them when they change.
type sessionSettings struct {
	passwordKey string // key of the password in the Secret; empty: none
	restartTime string // empty: BIRD's default
}

// settingsOf returns the settings in the BGPConfiguration or a BGPPeer.
func settingsOf(o *unstructured.Unstructured) sessionSettings {
	password, restart := []string{"spec", "password", "secretKeyRef", "key"}, []string{"spec", "maxRestartTime"}
	if o.GetKind() == "BGPConfiguration" {
		password, restart = []string{"spec", "nodeMeshPassword", "secretKeyRef", "key"}, []string{"spec", "nodeMeshMaxRestartTime"}
	}
	key, _, _ := unstructured.NestedString(o.Object, password...)
	time, _, _ := unstructured.NestedString(o.Object, restart...)
	return sessionSettings{key, time}
}

// set writes the settings into the spec of a BGPPeer or, with the prefix nodeMesh, of the BGPConfiguration.
// Calico refuses those of a mesh without a mesh.
func (s sessionSettings) set(spec map[string]any, mesh bool) {
	password, restart := "password", "maxRestartTime"
	if mesh {
		password, restart = "nodeMeshPassword", "nodeMeshMaxRestartTime"
	}
	if s.restartTime != "" {
		spec[restart] = s.restartTime
	}
	if s.passwordKey != "" {
		spec[password] = map[string]any{"secretKeyRef": map[string]any{"name": passwordSecret, "key": s.passwordKey}}
	}
}

// wantedPassword returns the password of the sessions between nodes; empty for none. With auto, sessions
// have one if they have one already, and a new cluster has one.
func wantedPassword(actx engine.ActionContext, c *cluster.Cluster, have sessions) (string, error) {
	present := have.passwords[have.presentKey()]
	auto := c.Network.Authentication == cluster.AuthenticationAuto
	if c.Network.Authentication == cluster.AuthenticationNone || auto && !have.New && present == "" {
		return "", nil
	}
	ring, ok := engine.Service[*keyring.Keyring](actx.Services())
	if !ok {
		return "", errors.New("the run has no keys")
	}
	keys, err := ring.Keys()
	if errors.Is(err, keyring.ErrEmpty) && (auto || actx.CheckOnly()) { // a dry run of a new cluster; a playbook that loads no keys
		return present, nil
	}
	if err != nil {
		return "", fmt.Errorf("password of the BGP sessions: %w", err)
	}
	password := keys.BGPPassword()
	if password == "" && !auto && !actx.CheckOnly() {
		return "", fmt.Errorf("the masters have no %s: run deployer install", keyring.BGPPassword)
	}
	return cmp.Or(password, present), nil
}

// presentKey returns the key of a password that sessions have; empty when none has one. The canary of a run
// that failed does not count.
func (s sessions) presentKey() string {
	for _, has := range s.settings {
		if has.passwordKey != "" {
			return has.passwordKey
		}
	}
	return ""
}

// wantedSettings returns the settings of the inventory, and the passwords that the Secret must have for
// them. A new password gets a new key, so that sessions with the former one go on until their objects
// name the new one.
func (s sessions) wantedSettings(password string) (sessionSettings, map[string]string) {
	out, passwords := sessionSettings{restartTime: restartTime}, map[string]string{}
	maps.Copy(passwords, s.passwords)
	if password == "" {
		return out, passwords
	}
	last, same := 0, 0
	for key, value := range s.passwords {
		text, ours := strings.CutPrefix(key, nodePasswords)
		n, err := strconv.Atoi(text)
		if !ours || err != nil {
			continue
		}
		if last = max(last, n); value == password {
			same = max(same, n)
		}
	}
	if same == 0 {
		same = last + 1
	}
	out.passwordKey = nodePasswords + strconv.Itoa(same)
	passwords[out.passwordKey] = password
	return out, passwords
}

// all returns the settings of all sessions.
func (s sessions) all() []sessionSettings {
	return append(slices.Clone(s.settings), s.canarySettings...)
}

// restarts reports whether settings of sessions that the nodes have differ from those wanted.
func (s sessions) restarts(wanted sessionSettings) bool {
	return slices.ContainsFunc(s.all(), func(has sessionSettings) bool { return has != wanted })
}

// begun reports whether some objects have the wanted settings already: a run was killed between two.
func (s sessions) begun(wanted sessionSettings) bool { return slices.Contains(s.settings, wanted) }

// formerSettings returns the settings that sessions have and are to lose; the wanted ones when none is.
func (s sessions) formerSettings(wanted sessionSettings) sessionSettings {
	for _, has := range s.settings {
		if has != wanted {
			return has
		}
	}
	return wanted
}

// keepOnly returns the passwords without those of sessions between nodes other than key.
func keepOnly(passwords map[string]string, key string) map[string]string {
	out := maps.Clone(passwords)
	maps.DeleteFunc(out, func(k, _ string) bool { return strings.HasPrefix(k, nodePasswords) && k != key })
	return out
}
