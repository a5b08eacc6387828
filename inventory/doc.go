// Package inventory reads the file that lists the hosts, their connection settings
// and their roles.
//
//	cluster: {...}        what to install; kept as it is, for package cluster
//	ssh: {user: root}     how to reach hosts; also in groups and hosts
//	vars: {...}           variables for playbooks; also in groups and hosts
//	hosts:
//	  m1: {address: 10.0.0.11}
//	  n[001:1000]: {address: "10.1.[0:3].[1:250]"}
//	groups:
//	  rack1: {hosts: "n[001:100]", children: [rack2]}
//	roles:
//	  master: [m1]
//	  minion: "n[001:1000]"
//
// A value that is given more than once has this precedence, from low to high: the
// top of the file, groups (a parent before its children, otherwise in the
// order of the file), the host. ssh and vars win key
// by key; overrides merge deeply, where mappings merge and any other value replaces.
//
// A file may extend others, which many inventories can share: it is laid over them, in
// their order, before precedence is applied. Mappings merge deeply, any other value
// replaces, and every value keeps the name of the file that it comes from.
//
// The package does not depend on the engine or on clusters. It reads the files and,
// for !env, the environment, and uses no network.
package inventory
