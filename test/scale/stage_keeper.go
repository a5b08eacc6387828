package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// keeperResult has the figures of the keepers, and of nodes that die under them. Times are in seconds.
type keeperResult struct {
	Nodes int `json:"nodes"`
	Pods  int `json:"pods"`
	Dead  int `json:"dead"`
	Seed  int `json:"seed"`

	Idle   []keeperLoad `json:"idle"`   // of each keeper; the leader first
	Acting []keeperLoad `json:"acting"` // from the death of the nodes to the last purged one

	Cleared  int     `json:"cleared"`   // pods that keepers force-deleted
	WithNode int     `json:"with_node"` // pods that ended with their purged Node
	Purged   int     `json:"purged"`
	LastPod  float64 `json:"last_pod"`  // from the death to the last force-deleted pod
	LastNode float64 `json:"last_node"` // from the death to the last purged node
	// How much later than the settings ask for: after the node was Unknown for unknown_for, and the pod deleted for
	// terminating_for.
	ClearP50 float64 `json:"clear_p50"`
	ClearMax float64 `json:"clear_max"`
	// The same of nodes: after the node was Unknown for unreachable_for. One node leaves in a pass.
	PurgeFirst float64 `json:"purge_first"`
	PurgeMax   float64 `json:"purge_max"`

	Failed int `json:"failed"` // actions that failed
	Wrong  int `json:"wrong"`  // actions on a node that lives, or a pod of one
}

// keeperLoad is what a keeper costs during a time.
type keeperLoad struct {
	Processors float64 `json:"processors"` // mean number of busy processors
	RSS        float64 `json:"rss_mb"`     // at the end
	MaxRSS     float64 `json:"max_rss_mb"` // since its start
	Calls      float64 `json:"calls_per_min"`
}

const (
	deadNodes     = 30
	keeperSeed    = 1
	imagesOfNode  = 50 // a kubelet reports as many (nodeStatusMaxImages)
	keeperLimit   = 40 * time.Minute
	electionLimit = 5 * time.Minute
)

// keeperStage starts the keepers, and ends the kubelets and hosts of random nodes.
func (s *site) keeperStage(ctx context.Context) (*keeperResult, error) {
	r := &keeperResult{Nodes: s.options.nodes, Pods: s.options.pods, Dead: min(deadNodes, s.options.nodes/5), Seed: keeperSeed}
	if r.Dead == 0 {
		return nil, fmt.Errorf("%d nodes are too few for a stage in which a fifth dies", s.options.nodes)
	}
	if err := s.describeNodes(ctx); err != nil {
		return nil, err
	}
	if err := s.plane.startKeepers(ctx, s.options.keeper); err != nil {
		return nil, err
	}
	masters, err := s.awaitKeepers(ctx)
	if err != nil {
		return nil, err
	}
	if r.Idle, err = s.keeperLoads(ctx, masters, func() error { return wait(ctx, s.options.window) }); err != nil {
		return nil, err
	}
	fmt.Fprintf(s.out, "idle: %+v\n", r.Idle)
	var d *deaths
	if r.Acting, err = s.keeperLoads(ctx, masters, func() (err error) {
		d, err = s.endNodes(ctx, r.Dead)
		return err
	}); err != nil {
		return nil, err
	}
	events, err := s.plane.keeperEvents(ctx)
	if err != nil {
		return nil, err
	}
	r.add(d, events)
	if r.Purged != r.Dead {
		return nil, fmt.Errorf("%d of %d dead nodes were purged by a keeper", r.Purged, r.Dead)
	}
	fmt.Fprintf(s.out, "%+v\n", *r)
	return r, nil
}

// describeNodes gives the masters Nodes with kubelets, and all nodes the addresses and images that kubelets report.
func (s *site) describeNodes(ctx context.Context) error {
	for i, m := range s.plane.masters {
		if err := s.nodes.addMaster(ctx, s.plane, m.node.Name, s.proxy.address); err != nil {
			return err
		}
		if err := s.nodes.masters[i].describe(ctx, address(i)); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creating)
	for i, n := range s.nodes.all {
		group.Go(func() error { return n.describe(ctx, nodeAddress(i)) })
	}
	return group.Wait()
}

// awaitKeepers waits until a keeper leads, knows all nodes and finds each of them Ready, and returns the masters,
// the leader first.
func (s *site) awaitKeepers(ctx context.Context) ([]*master, error) {
	var leads *master
	all := s.options.nodes + len(s.plane.masters)
	var last string
	err := s.await(ctx, "the leading keeper", electionLimit, func() bool {
		if leads = s.plane.leadingKeeper(ctx); leads == nil {
			return false
		}
		status, err := s.plane.keeperStatus(ctx, leads)
		last = fmt.Sprintf("%+v %v", status, err)
		return err == nil && status.Nodes == all
	})
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, last)
	}
	masters := []*master{leads}
	for _, m := range s.plane.masters {
		if m != leads {
			masters = append(masters, m)
		}
	}
	return masters, wait(ctx, s.options.settle)
}

// endNodes kills random nodes and waits until the keepers have purged all of them.
func (s *site) endNodes(ctx context.Context, n int) (*deaths, error) {
	random := rand.New(rand.NewPCG(keeperSeed, 0)).Perm(len(s.nodes.all))[:n]
	var names []string
	for _, i := range random {
		names = append(names, s.nodes.all[i].name)
	}
	d := watchDeaths(ctx, s.plane.api(), names)
	defer d.stop()
	if err := s.await(ctx, "the nodes and their pods", startTime, func() bool { return d.knows(n) }); err != nil {
		return nil, err
	}
	// KWOK plays the pods of all nodes, and would end them.
	stays := object{"metadata": object{"annotations": object{"bench/stays": ""}}}
	for _, name := range d.podNames() {
		if err := s.prober.client.do(ctx, http.MethodPatch, "/api/v1/namespaces/"+namespace+"/pods/"+name, patchType, stays, nil); err != nil {
			return nil, err
		}
	}
	for _, i := range random {
		if err := dropRoute(ctx, nodeAddress(i)); err != nil {
			return nil, err
		}
	}
	d.begin()
	for _, i := range random {
		s.nodes.all[i].die()
	}
	slices.Sort(random)
	for _, i := range slices.Backward(random) {
		s.nodes.all = slices.Delete(s.nodes.all, i, i+1)
	}
	err := s.await(ctx, "the keepers", keeperLimit, d.over)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, d)
	}
	return d, nil
}

// keeperLoads returns what the keepers cost during f.
func (s *site) keeperLoads(ctx context.Context, masters []*master, f func() error) ([]keeperLoad, error) {
	read := func() (loads []keeperLoad, err error) {
		times, err := groupTimes()
		if err != nil {
			return nil, err
		}
		for _, m := range masters {
			group := m.running[keeperProcess].Group()
			one := keeperLoad{Processors: times[group].Seconds()}
			if one.RSS, one.MaxRSS, err = processMemory(group); err != nil {
				return nil, err
			}
			if one.Calls, err = keeperCalls(ctx, m); err != nil {
				return nil, err
			}
			loads = append(loads, one)
		}
		return loads, nil
	}
	before, err := read()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	loads, err := read()
	for i := range loads {
		loads[i].Processors = (loads[i].Processors - before[i].Processors) / took
		loads[i].Calls = (loads[i].Calls - before[i].Calls) / took * 60
	}
	return loads, err
}

// add adds what happened to the nodes and pods, and judges the events of the keepers by it.
func (r *keeperResult) add(d *deaths, events []keeperEvent) {
	cleared, purged := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		of := e.InvolvedObject
		switch {
		case e.Type != "Normal":
			r.Failed++
		case e.Reason == "ForceDeletePod" && d.pods[of.UID] != nil:
			cleared[of.UID] = true
		case e.Reason == "PurgeNode" && d.nodes[of.Name] != nil:
			purged[of.Name] = true
		default:
			r.Wrong++
		}
	}
	r.Wrong += len(d.others)
	var late []time.Duration
	for uid, p := range d.pods {
		if !cleared[uid] {
			r.WithNode++
			continue
		}
		due := later(d.nodes[p.node].unknown.Add(unknownFor), p.deleted.Add(terminatingFor))
		late = append(late, p.gone.Sub(due))
		r.LastPod = max(r.LastPod, p.gone.Sub(d.began).Seconds())
	}
	r.Cleared, r.Purged = len(cleared), len(purged)
	r.ClearP50, r.ClearMax = percentile(late, 50).Seconds(), percentile(late, 100).Seconds()
	for name := range purged {
		n := d.nodes[name]
		after := n.gone.Sub(n.unknown.Add(unreachableFor)).Seconds()
		if r.PurgeFirst == 0 || after < r.PurgeFirst {
			r.PurgeFirst = after
		}
		r.PurgeMax = max(r.PurgeMax, after)
		r.LastNode = max(r.LastNode, n.gone.Sub(d.began).Seconds())
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// wait waits for a time.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// describe reports the address and the images of the node, as its kubelet does when it starts.
func (n *node) describe(ctx context.Context, address string) error {
	var images []object
	for i := range imagesOfNode {
		name := fmt.Sprintf("registry.example/team-%02d/application-%03d", i%7, i)
		images = append(images, object{"sizeBytes": 50_000_000 + i, "names": []string{fmt.Sprintf("%s@sha256:%064x", name, i), fmt.Sprintf("%s:v1.%d.0", name, i)}})
	}
	return n.kubelet.do(ctx, http.MethodPatch, "/api/v1/nodes/"+n.name+"/status", patchType, object{"status": object{
		"addresses": []object{{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": n.name}}, "images": images,
	}}, nil)
}
