// Package devidp lets a program that embeds authsvc run on a developer's machine
// without accounts elsewhere. It adds an identity provider where anyone can sign in as
// any person on its list, and an inbox that receives all mail.
//
//	config := authsvc.Config{ … } // as deployed
//	if *dev {
//		d, err := devidp.Start(&config, devidp.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer d.Close()
//		log.Print("mails arrive at ", d.InboxURL())
//	}
//	auth, err := engine.New(config)
//
// Anyone who reaches the provider can sign in as anyone. It therefore listens only on
// 127.0.0.1, and refuses a configuration whose URL is not on loopback, so that a
// forgotten flag does not open a deployment. For tests, use package authtest.
package devidp
