package plugin

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/coredns/coredns/core/dnsserver"

	clog "github.com/coredns/coredns/plugin/pkg/log"
)

// Run with -update after a deliberate change of what messages say.
var update = flag.Bool("update", false, "write what is said into testdata")

func TestMain(m *testing.M) {
	// What cmd/coredns does before it reads a Corefile.
	dnsserver.Directives = Directives(dnsserver.Directives)
	if err := dnsserver.Register(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dnsserver.Quiet = true
	clog.Discard()
	os.Exit(m.Run())
}
