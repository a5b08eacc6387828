// Package addons reads and renders the add-ons of an inventory: [Read] returns the objects of each
// add-on of cluster.addons in the order in which they are applied. The result depends on the
// settings and files only. The package runs no program and asks no network; [Files] decides which
// files it may read, and how much it reads and renders is limited.
//
// Package project calls it before a host is contacted; tasks/control/addon applies the result.
package addons
