// Package devidp lets a program that embeds authsvc run on a developer's machine
// without accounts anywhere: it adds an identity provider that lets anybody be
// whoever is on its list, and an inbox that gets all mail.
//
//	config := authsvc.Config{ … } // as deployed
//	if *dev {
//		d, err := devidp.Start(&config, devidp.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer d.Close()
//		log.Print("mails come to ", d.InboxURL())
//	}
//	auth, err := engine.New(config)
//
// Whoever reaches it is signed in as anybody, so it listens on 127.0.0.1 only,
// and refuses a configuration whose URL is not on loopback: a flag that was left
// on does not open a deployment. Tests have package authtest.
package devidp
