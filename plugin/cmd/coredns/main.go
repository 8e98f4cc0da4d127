// Command coredns is CoreDNS with the plugin clusterzone.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/core/plugin"
	"github.com/coredns/coredns/coremain"

	"github.com/clusterzone/clusterzone/plugin"
)

func main() {
	dnsserver.Directives = plugin.Directives(dnsserver.Directives)
	coremain.Run()
}
