// Package keeper is the loop that keeps a cluster healthy between runs of deployer. A keeper runs on
// each master. A pass reads the configuration, observes the cluster, decides by pure rules, acts, and
// reports. One of the keepers, the leader, works for the whole cluster; each acts only while it holds the
// run lock of its host, so that it never acts beside a run of deployer that changes the host.
//
// The packages below have one step each: config, access, observe, decide, act, report. Package world has
// what they exchange.
package keeper
