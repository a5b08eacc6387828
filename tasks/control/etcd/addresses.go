package etcd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/stat"
)

// Addresses is the action `etcd_addresses`: it fails unless the members of etcd are
// down because their hosts have other addresses than those in the member list, and
// changes nothing.
//
// Output: reason, for people.
type Addresses struct {
	Found string `yaml:"found" rule:"variable" doc:"Name under which the etcd hosts registered whether they have data (a stat of the member directory)." required:"true"`
}

// ReadOnly is true: a decision changes nothing.
func (*Addresses) ReadOnly() bool { return true }

// Check decides.
func (a *Addresses) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	open, err := opener(ctx, actx, c.Etcd)
	if err != nil {
		return engine.Change{}, err
	}
	hosts := Hosts(c.Etcd)
	if Take(ctx, open, hosts).Live() != nil {
		return engine.Change{}, errors.New("a majority of the members of etcd serves: deployer install changes the addresses of members, one after the other, and deployer resume completes an interrupted readdress")
	}
	probes := (&Plan{Found: a.Found}).probes(actx, hosts)
	setListed(probes, ListedPeerURLs(ctx, actx, cluster.EtcdOwn, hosts))
	reason := cluster.EtcdAddressesLost(probes)
	if reason == "" {
		return engine.Change{}, errors.New("the members of etcd know each other under the addresses of the inventory: deployer resume completes an interrupted readdress; where none was interrupted, deployer apply starts them")
	}
	return engine.NoChange(engine.Output{"reason": reason}), nil
}

// Apply is never called.
func (*Addresses) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func setListed(probes []cluster.EtcdProbe, listed map[string]string) {
	for i := range probes {
		probes[i].ListedPeerURL = listed[probes[i].Name]
	}
}

var advertised = regexp.MustCompile(`--initial-advertise-peer-urls=([^\s"]+)`)

// ListedPeerURLs returns for the hosts of an etcd cluster the peer URL under which the others know their
// members, as far as the units on the hosts show it. Hosts that cannot be read are left
// out. Use it for a cluster of which no member answers.
func ListedPeerURLs(ctx context.Context, actx engine.ActionContext, name string, hosts []Host) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	unit := unitPath(name)
	out := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() {
			result, err := actx.RunOn(ctx, h.Name, "read", &stat.Read{Paths: []string{unit}, MissingOK: true})
			if err != nil {
				return
			}
			files, _ := result.Output["files"].(map[string]any)
			if m := advertised.FindStringSubmatch(fmt.Sprint(files[unit])); m != nil {
				mu.Lock()
				defer mu.Unlock()
				out[h.Name] = m[1]
			}
		})
	}
	wg.Wait()
	return out
}
