package calico

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/kube"
)

// Sessions is the action `calico_sessions`: it compares the BGP sessions that the API has with
// those of the inventory, with [cluster.PlanCalicoTransition]. It changes nothing.
//
// The output has `new`, `needed`, `become` and `leave`, and for each node the names of the sessions
// that it must have at the gates of the change, with hosts of the run: `mesh_sessions` when the mesh
// has begun, `changed_sessions` when the node itself has changed, `transition_sessions` while all
// nodes have sessions with all reflectors, and `sessions` at the end.
//
// `restarts` is true when settings change that restart the sessions, such as their password. Then `former`
// has the present settings, `begun` is true when some objects have the wanted ones already,
// `present_sessions` are the names of the sessions of each node that may restart, and `canary` is the node
// whose sessions get the settings first.
type Sessions struct{}

// ReadOnly returns true: the action changes nothing.
func (*Sessions) ReadOnly() bool { return true }

// Check compares the sessions. In a dry run without an API a cluster counts as unchanged.
func (*Sessions) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, _, have, err := read(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	plan := cluster.PlanCalicoTransition(c.WantedCalicoRoutes(), have.CalicoRoutes)
	password, err := wantedPassword(actx, c, have)
	if err != nil {
		return engine.Change{}, err
	}
	settings, _ := have.wantedSettings(password)
	former := have.formerSettings(settings)
	out := engine.Output{
		"new": have.New, "needed": plan.Needed, "become": texts(plan.Become), "leave": texts(plan.Leave),
		"restarts": have.restarts(settings), "begun": have.begun(settings),
		"former": map[string]any{"password_key": former.passwordKey, "restart_time": former.restartTime},
		"canary": canaryOf(c, have, actx.Targets()).output(),
	}
	names := sessionNames{cluster: c, have: have.CalicoRoutes, inRun: actx.Targets()}
	out["present_sessions"] = names.byNode(func(node string) []string { return names.present(node, have.canaries) })
	out["mesh_sessions"], out["changed_sessions"] = names.byNode(names.begun), names.byNode(names.changed)
	out["transition_sessions"], out["sessions"] = names.byNode(names.transition), names.byNode(names.final)
	return engine.NoChange(out), nil
}

// Apply does nothing: Check never returns a needed change.
func (*Sessions) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func texts(all []string) []any {
	out := make([]any, 0, len(all))
	for _, s := range all {
		out = append(out, s)
	}
	return out
}

// read returns the cluster of the inventory, its places of objects, and the sessions that they describe. In
// a dry run without a datastore the cluster is a new one.
func read(ctx context.Context, actx engine.ActionContext) (*cluster.Cluster, places, sessions, error) {
	c, p, err := openPlaces(ctx, actx)
	if err != nil {
		return nil, places{}, sessions{}, err
	}
	have, err := present(ctx, p.store, p.client)
	if actx.CheckOnly() && isUnavailable(err) {
		have, err = sessions{CalicoRoutes: cluster.CalicoRoutes{New: true}}, nil
	}
	return c, p, have, err
}

// sessions are the BGP sessions between nodes, as Calico's objects and the nodes have them.
type sessions struct {
	cluster.CalicoRoutes
	nodes    []string          // names of all nodes
	canaries []string          // nodes that have sessions by the BGPPeer of the canary: one, and those of earlier runs
	settings []sessionSettings // of the mesh and of each BGPPeer but the canary's
	// canarySettings are those of the BGPPeer of the canary, if there is one.
	canarySettings []sessionSettings
	passwords      map[string]string // deployer's passwords in the Secret, by key
}

// present reads the sessions from Calico's objects and nodes, and from the Secret of the API.
func present(ctx context.Context, store datastore.Store, client *kube.Client) (sessions, error) {
	out := sessions{CalicoRoutes: cluster.CalicoRoutes{Mesh: true, Clients: map[string][]string{}}}
	config, err := store.Get(ctx, "BGPConfiguration", "default")
	switch {
	case err != nil:
		return out, fmt.Errorf("reading the BGPConfiguration: %w", err)
	case config == nil:
		out.New = true
		out.passwords, err = readPasswords(ctx, client)
		return out, err
	}
	if mesh, found, err := unstructured.NestedBool(config.Object, "spec", "nodeToNodeMeshEnabled"); err == nil && found {
		out.Mesh = mesh
	}
	if out.Mesh {
		out.settings = append(out.settings, settingsOf(config))
	}
	peers, err := peersBetweenNodes(ctx, store)
	if err != nil {
		return out, err
	}
	for _, o := range peers {
		out.Peers = append(out.Peers, o.GetName())
		if o.GetName() == cluster.PeerCanary {
			out.canarySettings = append(out.canarySettings, settingsOf(&o))
		} else {
			out.settings = append(out.settings, settingsOf(&o))
		}
	}
	if out.passwords, err = readPasswords(ctx, client); err != nil {
		return out, err
	}
	nodes, err := store.Nodes(ctx)
	if err != nil {
		return out, fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range nodes {
		out.nodes = append(out.nodes, node.Name)
		if node.Labels[canaryLabel] != "" {
			out.canaries = append(out.canaries, node.Name)
		}
		if node.Annotations[datastore.ClusterID] != "" {
			out.Reflectors = append(out.Reflectors, node.Name)
		}
		for key := range node.Labels {
			if reflector, ok := strings.CutPrefix(key, clientPrefix); ok {
				out.Clients[node.Name] = append(out.Clients[node.Name], reflector)
			}
		}
		slices.Sort(out.Clients[node.Name])
	}
	return out, nil
}

// peersBetweenNodes returns the BGPPeers between nodes that deployer has written.
func peersBetweenNodes(ctx context.Context, store datastore.Store) ([]unstructured.Unstructured, error) {
	found, err := managed(ctx, store, "BGPPeer")
	return slices.DeleteFunc(found, func(o unstructured.Unstructured) bool {
		return strings.HasPrefix(o.GetName(), routerObjects)
	}), err
}

// managed returns the objects of a kind that deployer has written.
func managed(ctx context.Context, store datastore.Store, kind string) ([]unstructured.Unstructured, error) {
	found, err := store.List(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("listing the %ss: %w", kind, err)
	}
	found = slices.DeleteFunc(found, func(o unstructured.Unstructured) bool { return o.GetLabels()[managedLabel] != kube.Manager })
	for i := range found {
		found[i].SetGroupVersionKind(kindOf(kind)) // items of a list may lack it
	}
	return found, nil
}

// readPasswords returns deployer's passwords in the Secret, by key.
func readPasswords(ctx context.Context, client *kube.Client) (map[string]string, error) {
	secret, err := client.Get(ctx, kube.SecretKind(), passwordNamespace, passwordSecret)
	switch {
	case apierrors.IsNotFound(err):
		return map[string]string{}, nil
	case err != nil:
		return nil, fmt.Errorf("reading the Secret %s: %w", passwordSecret, err)
	}
	return ownPasswords(secret)
}
