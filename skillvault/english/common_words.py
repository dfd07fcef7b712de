"""How common English words are, in bands: data alone, written by a program.

The 10,000 most frequent words of the Google Books Ngram Corpus (English, version 3), as compiled in
github.com/orgtre/google-books-ngram-frequency, licence CC BY 3.0; counted here by stem, function
words left out. A stem stands in the band of its rarity; `=` gives its commonest word.
"""

BANDS: dict[int, str] = {
    9: """
        more say=said see time
    """,
    10: """
        come find=found first give=given go know look make=made man new out person=people take
        think two way work
    """,
    11: """
        anoth=another ask=asked back call=called case chang=change child=children day
        develop=development differ=different effect eye=eyes feel=felt follow=following form good
        hand head help high includ=including leav=left life littl=little live=living long
        mean=means most need now own part place point process provid=provide relat=related right
        same set state studi=study system tell=told thing=things turn=turned under use want well
        woman=women world year=years
    """,
    12: """
        act action activ=activity against allow although american answer appear approach area
        around associ=associated author=authority away base=based becom=become begin=began
        believ=believe best better bodi=body book bring=brought build=building busi=business care
        caus=cause cell certain chapter citi=city clear close compani=company condit=conditions
        consid=considered continu=continued control countri=country cours=course creat=create
        cultur=culture data design direct discuss=discussion door earli=early educ=education end
        exampl=example experi=experience face fact fall famili=family father few figur=figure
        final=finally forc=force friend=friends function general god govern=government great group
        hear=heard histori=history hold=held home hous=house human idea import=important
        increas=increase individu=individual inform=information interest issu=issues keep kind
        larg=large last later law lead learn=learning less level light line love manag=management
        measur=measure meet method mind model mother move name nation=national natur=nature next
        night note number object offic=office old open oper=operation order organiz=organization
        other=others parti=party particular patient=patients perform=performance plan play
        polit=political posit=position possibl=possible power practic=practice present press
        problem product=production public put question rate read reason refer=reference report
        requir=required research respons=response result=results return room run school second
        section seem=seemed servic=service sever=several show side sit=sat small social
        someth=something speak stand=stood start=started step structur=structure student=students
        support sure tabl=table talk term=terms test three toward tri=trying type understand
        universiti=university valu=value view walk=walked war water word=words write=writing
    """,
    13: """
        abl=able abov=above accept access accord=according account achiev=achieve across
        actual=actually add=added addit=addition address affect age air along among amount
        analysi=analysis anim=animals anyth=anything appli=applied applic=application arm=arms art
        assess=assessment attempt attent=attention avail=available bad bank becam=became bed
        behavior behind big black blood boy break breath car carri=carried center centuri=century
        challeng=challenge choos=choose church claim class collect=collection combin=combination
        common communic=communication communiti=community compar=compared complet=complete complex
        comput=computer concept concern=concerned connect=connection consist=consistent
        construct=construction contain=contains content cost court cover critic=critical cross
        current cut dark date deal death decid=decided decis=decision defin=defined demand
        depart=department depend=dependent describ=described desir=desire detail=details
        determin=determined die diseas=disease distribut=distribution draw=drawn drive due eat
        econom=economic element=elements employ=employment energi=energy english enough
        enter=entered equal especi=especially establish=established event=events
        everyth=everything evid=evidence except exist=existence expect=expected explain
        express=expression factor=factors far fear featur=features field fire five focus food four
        free front full further futur=future game generat=generation girl ground grow=growing half
        happen=happened hard health heart higher hope hour=hours identifi=identified imag=image
        improv=improve indic=indicate industri=industry influenc=influence initi=initial
        insid=inside institut=institutions internat=international involv=involved job journal key
        kill=killed king knowledg=knowledge land languag=language late least letter like=likely
        limit=limited list local locat=location longer lord lose=lost lot low lower main major
        mark market materi=material matter medic=medical member=members minut=minutes miss moment
        money month=months morn=morning movement music near necessari=necessary network non normal
        notic=notice observ=observed obtain=obtained occur offer oh origin=original outsid=outside
        page pain paper parent=parents particip=participants pass=passed past pay perhap=perhaps
        period physic=physical plant polici=policy popul=population potenti=potential
        prepar=prepared price principl=principles probabl=probably produc=produced program project
        properti=property protect=protection publish=published pull=pulled purpos=purpose
        qualiti=quality quick=quickly rais=raised rang=range reach=reached real receiv=received
        recent record red reduc=reduced reflect regard=regarding region relationship remain
        rememb=remember repres=represent resourc=resources respect rest review rise=rose risk role
        rule scienc=science secur=security select=selected self send=sent sens=sense serv=serve
        share short shown sign signific=significant similar singl=single site situat=situation
        size smile societi=society solut=solution someon=someone sometim=sometimes son soon sound
        sourc=source south space special specif=specific spend=spent stage standard stay stop
        stori=story strategi=strategy street strong subject success suggest=suggested
        surfac=surface teach=teaching teacher=teachers technolog=technology text thank
        theori=theory therefor=therefore third today togeth=together top total trade
        tradit=traditional train=training treatment tree true various voic=voice wait=waiting wall
        watch week white whole window wonder yes young
    """,
    14: """
        abil=ability acid administr=administration adopt=adopted adult advanc=advanced
        advantag=advantage african agenc=agency agent ago agre=agreed agreement aim alon=alone
        altern=alternative america apart appar=apparently appropri=appropriate argu=argued
        argument armi=army arrang=arrangements arriv=arrived articl=article aspect=aspects
        assist=assistance assum=assume attack averag=average awar=aware babi=baby balanc=balance
        bar basi=basis basic bear beauti=beautiful belief below benefit=benefits besid=beside
        beyond bibl=bible bill bit block blue board born box brain british brother brown
        burn=burning buy calcul=calculated cancer capac=capacity capit=capital catch=caught
        categori=category central chair chanc=chance charact=character
        characterist=characteristics charg=charge check china chines=chinese choic=choice christ
        christian civil clean client clinic=clinical cloth=clothes code cold colleg=college color
        command comment=comments commiss=commission commit=committed committe=committee
        competit=competition compon=components concentr=concentration conduct conflict
        conscious=consciousness consequ=consequences consider=consideration constant
        constitut=constitution consum=consumer contact context contract contrast
        contribut=contribution convent=convention convers=conversation copi=copy corpor=corporate
        correct correspond=corresponding council count coupl=couple cri=cried crime
        custom=customer daili=daily damag=damage danger=dangerous daughter dead decreas=decrease
        deep definit=definition degre=degree demonstr=demonstrated deriv=derived
        descript=description despit=despite detect=detection devic=device difficult
        discov=discovered disord=disorders display distanc=distance distinct doctor document dog
        doubt dream dress dri=dry drink drop=dropped drug duti=duty earlier earth easi=easy
        easili=easily east economi=economy edg=edge edit=edition effici=efficiency effort
        elect=election electr=electric electron=electronic emerg=emerged emot=emotional
        employe=employees encourag=encourage engag=engaged engin=engineering england enjoy
        ensur=ensure entir=entire environ=environment environment=environmental equat=equation
        error essenti=essential estim=estimated europ=europe european evalu=evaluation evening
        everyon=everyone examin=examination exchang=exchange execut=executive exercis=exercise
        explor=explore extend=extended extens=extensive extrem=extremely fail=failed
        failur=failure fair faith feder=federal feet femal=female fight file fill=filled film
        financi=financial fine finger=fingers finish=finished firm fish fit fix=fixed fli=fly
        floor flow foreign format=formation former forward frame freedom french
        frequent=frequently fund=funds gain german glanc=glanced glass global goal grant greater
        green growth guid=guide guy hair hall happi=happy heat hide=hidden hill histor=historical
        hit hors=horse hospit=hospital hot hundr=hundred husband ident=identity
        illustr=illustrated imagin=imagine immedi=immediately impact implement=implementation
        incom=income inde=indeed independ=independent india indian infect=infection
        instanc=instance instruct=instructions integr=integration intens=intensity
        intent=intention interact=interaction internal interpret=interpretation interview
        introduc=introduced introduct=introduction invest=investment investig=investigation island
        item=items jesus join judg=judge juli=july june justic=justice kid=kids kiss ladi=lady
        larger laugh=laughed lay layer leader=leaders leg=legs legal length librari=library lie
        link lip=lips listen literatur=literature load loss machin=machine maintain male manner
        map march marri=married marriag=marriage mass master mayb=maybe mechan=mechanism media
        memori=memory mental mention=mentioned mere=merely messag=message middl=middle mile=miles
        militari=military million mine mix=mixed modern moral mouth multipl=multiple myself
        negat=negative news nod=nodded north nurs=nurse obvious offici=official oil opinion
        opportun=opportunity opposit=opposite option=options outcom=outcomes paint=painting park
        path pattern peac=peace percent perfect perspect=perspective phase phone pick=picked
        pictur=picture piec=piece pleas=please polic=police poor popular post predict=predicted
        prefer=preferred presenc=presence presid=president pressur=pressure prevent previous
        primari=primary print prison privat=private procedur=procedure proceed=proceedings
        profession=professional progress promis=promise promot=promote proper propos=proposed
        protein prove psycholog=psychology push=pushed quiet race rapid reaction reader
        readi=ready realiti=reality realiz=realized recogn=recognized recommend=recommended
        regul=regulation releas=release relev=relevant religi=religious religion remov=removed
        repeat=repeated replac=replaced repli=replied request reserv=reserved resist=resistance
        respond reveal=revealed river road rock roll=rolled round safe safeti=safety sale=sales
        sampl=sample save scale scene sea search seat secret seek sell=sold separ=separate
        seri=series serious seven sex sexual shape shift ship shot shoulder signal simpl=simple
        sir sister six skill=skills skin sleep slight=slightly slowli=slowly soft sort soul
        speci=species speech spirit staff star stare=stared statement status stone store strength
        stress struggl=struggle style sudden=suddenly suffer=suffering sun suppli=supply
        suppos=suppose surpris=surprise surviv=survival sustain=sustainable target task tax team
        techniqu=techniques temperatur=temperature ten therapi=therapy thought=thoughts thousand
        throughout throw=threw titl=title tool=tools touch town transfer transform=transformation
        translat=translation transport travel treat=treated trial troubl=trouble trust truth
        twenti=twenty union unit user variabl=variable varieti=variety version villag=village
        visit volum=volume wave wear=wearing weight west western whatev=whatever wide wife win
        wind wish wood worker=workers worri=worry wrong yourself
    """,
    15: """
        absenc=absence absolut=absolute abus=abuse academ=academic accompani=accompanied
        accur=accurate acknowledg=acknowledge acquir=acquired actor=actors adapt=adapted
        adjust=adjustment admit advic=advice affair=affairs afraid africa afternoon
        agricultur=agricultural ahead aid alcohol algorithm aliv=alive alter=altered
        amend=amendment analyz=analyze ancient anger angl=angle annual anti anyway appeal
        appoint=appointed appreci=appreciate approv=approved approxim=approximately april
        architectur=architecture aris=arise artist asid=aside assembl=assembly asset=assets
        assign=assigned assumpt=assumption atom=atoms attach=attached attend attitud=attitude
        attract=attractive attribut=attributes audienc=audience august award background bag ball
        band bare=barely battl=battle beat behaviour belong beneath bind=binding biolog=biological
        bird=birds birth bless=blessed boat bond bone border bottom bound boundari=boundary branch
        breast bridg=bridge brief bright britain broad budget button california camera camp
        campaign canada capabl=capable captain captur=capture carbon card career cash cast cat
        cent centr=centre chain channel character=characterized cheek chemic=chemical chest chief
        circl=circle circumst=circumstances citizen=citizens classic=classical click
        climat=climate climb=climbed closer cloud club coat coffe=coffee cognit=cognitive
        colleagu=colleagues coloni=colonial colour column comfort=comfortable commerci=commercial
        comparison compet=competence complic=complicated composit=composition compound=compounds
        conclud=concluded conclus=conclusion confer=conference confid=confidence confirm=confirmed
        confus=confusion conserv=conservative consult=consultation consumpt=consumption
        contemporari=contemporary convinc=convinced cook cool cooper=cooperation
        coordin=coordination copyright core corner correl=correlation counti=county creation
        creativ=creative credit crimin=criminal crisi=crisis criteria crowd cup curv=curve
        cycl=cycle dad danc=dance dear debat=debate debt decad=decades decemb=december
        declar=declared declin=decline defend=defendant defens=defense delay deliv=delivered
        democrat=democratic deni=denied densiti=density deposit=deposits depress=depression depth
        desk destroy=destroyed differenti=differential difficulti=difficulty digit=digital
        dimens=dimensions dinner director disabl=disability disappear=disappeared
        discours=discourse distinguish=distinguished district divers=diversity divid=divided
        divin=divine divis=division dollar=dollars domain domest=domestic domin=dominant dose
        doubl=double driver dynam=dynamic ear earn=earned eastern editor egg=eggs eight
        elder=elderly emergenc=emergency emphas=emphasized empir=empire empti=empty enabl=enable
        encount=encounter enemi=enemy enforc=enforcement enhanc=enhanced enterpris=enterprise
        entiti=entity entri=entry equip=equipment escap=escape essay estat=estate ethic=ethics
        ethnic eventu=eventually evil evolut=evolution excel=excellent excess excit=excited
        exclus=exclusive exhibit expand=expanded expens=expensive experienc=experienced
        experiment=experimental expert explan=explanation explicit expos=exposed exposur=exposure
        extent extern=external extra extract facil=facilities fals=false familiar farm fashion
        fast fat favor februari=february feed fellow financ=finance flat flight flower=flowers
        fluid foot forest forget formal forth foundat=foundation fourth framework franc=france
        frank frequenc=frequency fresh fruit fuck fuel fulli=fully fun fundament=fundamental gap
        garden gas gate gather=gathered gaze gender gene genet=genetic gentl=gently
        germani=germany gift gold grab=grabbed grace grade grand greatest greek grin=grinned guard
        guess gun handl=handle hang=hanging harm hate heal=healing heaven heavi=heavy height hell
        henc=hence highest hole holi=holy host hotel household huge hurt ibid ice ideal
        identif=identification ignor=ignored ill immigr=immigration impli=implies
        implic=implications imposs=impossible impress=impression inch incid=incident
        incorpor=incorporated index induc=induced injuri=injury inner innov=innovation input
        insist=insisted inspir=inspired instant instrument=instruments insur=insurance
        intellectu=intellectual intellig=intelligence intend=intended internet
        intervent=intervention invit=invited iron islam=islamic isol=isolated israel
        januari=january japan japanes=japanese jew=jews jewish joint journey judgment jump=jumped
        kingdom kitchen knee=knees label labor labour laid lake latter leadership lean=leaned
        legisl=legislation lesson=lessons liber=liberal lift=lifted linear liquid loan lock=locked
        logic loud magic mail manufactur=manufacturing match mathemat=mathematical matrix maximum
        meal medicin=medicine medium metal mid minimum minist=minister minor mission
        mistak=mistake mobil=mobile mode mom monitor=monitoring moreov=moreover motion
        motiv=motivation mountain movi=movie murder muscl=muscle museum muslim narrat=narrative
        narrow nativ=native neck negoti=negotiations nerv=nerve net nevertheless newspap=newspaper
        nice nine node nois=noise northern notion novel novemb=november nuclear numer=numerous
        oblig=obligations occas=occasion occasion=occasionally octob=october okay older
        onlin=online oppos=opposed optim=optimal organis=organisation orient=orientation
        otherwis=otherwise ourselv=ourselves output overal=overall owner pack pair paragraph
        parallel paramet=parameters partial particl=particles partner passag=passage passion
        paus=paused payment perceiv=perceived percept=perception permiss=permission permit
        philosoph=philosophical philosophi=philosophy photo plain plane plate player=players
        pleasur=pleasure pocket poem port portion possess=possession pound=pounds pour pray prayer
        pre precis=precisely preserv=preserve pretti=pretty priest princ=prince princip=principal
        prior professor profil=profile profit programm=programme proport=proportion protest
        provis=provisions purchas=purchase pure quantiti=quantity quarter queen quot=quoted
        radic=radical radio random rank ratio ray recal=recall recognit=recognition
        reduct=reduction reform refus=refused regim=regime regist=registered regular
        reject=rejected reli=rely relief remark=remarkable remind=reminded
        represent=representation resid=residents resolut=resolution restrict=restrictions
        retriev=retrieved revolut=revolution rich ride ring roman root rough rout=route row royal
        rural rush russian sad salt satisfi=satisfied scan=scanned schedul=schedule scheme
        scholar=scholars scientif=scientific score scream=screamed screen season
        secondari=secondary secretari=secretary sector seed sensit=sensitive sentenc=sentence
        septemb=september sequenc=sequence servant session settl=settled shadow shake=shaking
        sheet shirt shock shook shop shout=shouted shut sick sigh=sighed sight silenc=silence
        silent silver sin sing=singing sky slave slip=slipped slow smaller smell smoke
        softwar=software soil soldier=soldiers solid solv=solve somewhat song sorri=sorry sought
        southern specifi=specified speed spiritu=spiritual sport=sports spot spread spring
        squar=square stabil=stability station statist=statistics stick stock straight strain
        strang=strange strateg=strategic stream stretch=stretched strike subsequ=subsequent
        substanc=substance substanti=substantial suffici=sufficient suit sum summer
        suppress=suppressed surround=surrounding survey suspect=suspected sweet switch symbol
        symptom=symptoms tast=taste tea tear=tears technic=technical teeth televis=television
        templ=temple tend tension territori=territory theme theolog=theology theoret=theoretical
        thick thin thirti=thirty thou threat threaten=threatened throat tie=tied tight till tip
        tissu=tissue tone tongu=tongue topic trace track transact=transactions transit=transition
        trend=trends trip truli=truly typic=typical uk ultim=ultimately unabl=unable uniqu=unique
        universal unlik=unlike upper urban usual util=utility valid van vari=vary variat=variation
        vehicl=vehicle vessel victim video violenc=violence virtual visibl=visible vision visual
        vote warm warn=warning wash wast=waste weak weapon=weapons web welcom=welcome
        wherea=whereas whisper=whispered wild will=willing wine wing winter wit=witness wors=worse
        worth wound wrap=wrapped writer yeah yellow yield youth zone
    """,
    16: """
        abandon=abandoned abstract academi=academy accid=accident accomplish=accomplished
        accumul=accumulation accuraci=accuracy acquisit=acquisition acut=acute ad adequ=adequate
        admir=admiral adolesc=adolescents advertis=advertising advoc=advocate aesthet=aesthetic
        afford afterward=afterwards aggress=aggressive ah aircraft align=alignment alli=allies
        allianc=alliance alloc=allocation amaz=amazing analog=analogy analys=analyses
        analyt=analytical angel angri=angry announc=announced anticip=anticipated anxieti=anxiety
        anymor=anymore anywher=anywhere app appendix appl=apple arab archiv=archives array arrest
        arrow arteri=artery asia asian asleep ass assert=asserted assur=assured
        atmospher=atmosphere attorney aunt australia australian authent=authentic
        automat=automatically axi=axis bake=baking barrier bay be=beings beach beam bedroom beer
        beg bell bent bias billion bishop bitter blade blame blind blow boil=boiling bomb
        boot=boots bore borrow=borrowed bottl=bottle bow bowl brand bread breakfast
        briefli=briefly brush burden bureau buri=buried burst bus bush calm canadian
        candid=candidate carrier castl=castle cathol=catholic celebr=celebrated certif=certificate
        chamber chart chicken childhood chin christma=christmas chronic circuit circul=circulation
        cite=cited classif=classification classroom claus=clause clock cluster coach coast
        coeffici=coefficient collabor=collaboration collaps=collapse communist companion
        compens=compensation complain=complained complaint complianc=compliance compos=composed
        comprehens=comprehensive compris=comprised concret=concrete confess=confession
        configur=configuration confront=confronted consent constraint=constraints
        contrari=contrary controversi=controversy convert=converted convict=conviction
        corrupt=corruption counsel counter courag=courage cousin coverag=coverage crack
        crazi=crazy cream creatur=creature crew crop crown crucial crystal curious curriculum damn
        dan dare databas=database dedic=dedicated deeper deepli=deeply default defeat
        defect=defects defenc=defence defici=deficiency deliber=deliberately delight
        deliveri=delivery democraci=democracy denot=denote descend=descended desert deserv=deserve
        desper=desperate destin=destination destruct=destruction development=developmental
        devot=devoted diabet=diabetes diagnosi=diagnosis diagram dialogu=dialogue diet
        diffus=diffusion dimension=dimensional disappoint=disappointed disast=disaster
        discharg=discharge disciplin=discipline discoveri=discovery discret=discrete
        discrimin=discrimination dish dismiss=dismissed disput=dispute distant disturb=disturbed
        divorc=divorce doctrin=doctrine dozen drag dramat=dramatic duke duplic=duplicated
        durat=duration dust dutch eager eas=ease easier echo ecolog=ecological egypt elev=elevated
        elimin=eliminate elit=elite elsewher=elsewhere embarrass=embarrassed embrac=embrace
        emiss=emissions emperor emphasi=emphasis endur=endure enorm=enormous entitl=entitled
        entranc=entrance enzym=enzyme episod=episode equilibrium equiti=equity equival=equivalent
        era etern=eternal everybodi=everybody everyday everywher=everywhere evolv=evolved ex exact
        exceed exclud=excluded exhaust=exhausted expans=expansion expenditur=expenditure
        exploit=exploitation export facilit=facilitate factori=factory faculti=faculty fade=faded
        famous fan farmer=farmers faster fate fault favorit=favorite favour fed fee=fees feedback
        fiber fiction fifteen fifth fifti=fifty filter flame flash flesh flexibl=flexible
        float=floating flood fold=folded folk forev=forever forgiv=forgive forgotten
        formul=formulation formula forti=forty fortun=fortune fought found=founded fraction
        fractur=fracture fragment=fragments freez=frozen frown=frowned frustrat=frustration
        fulfil=fulfilled furthermor=furthermore gay genuin=genuine geograph=geographical
        gestur=gesture ghost giant glad glori=glory golden gospel gotten governor
        gradual=gradually graduat=graduate grain graph grasp grass grave gray greet=greeted grey
        grip gross guarante=guarantee guest=guests guidanc=guidance guidelin=guidelines
        guilti=guilty habit han harder hat hazard healthi=healthy heavili=heavily hero
        hesit=hesitated hey highlight hip hire=hired historian=historians holiday honest honor
        hung hunt=hunting hunter hurri=hurry hypothesi=hypothesis ideolog=ideology immun=immune
        imperi=imperial impos=imposed inclus=inclusion indigen=indigenous indirect
        inequ=inequality inevit=inevitable infant infinit=infinite infrastructur=infrastructure
        inher=inherent inherit=inheritance innoc=innocent inquiri=inquiry insert=inserted insight
        instal=installed interfac=interface interfer=interference interior interval invas=invasion
        invent=invention investor=investors ion ireland irish itali=italy italian joy
        jurisdict=jurisdiction justifi=justified kick=kicked knife knock=knocked
        laboratori=laboratory landscap=landscape largest latin launch=launched lawyer leagu=league
        learner=learners lectur=lecture lesion=lesions let=letting liabil=liability
        liberti=liberty licens=license linguist=linguistic lit liter=literally literari=literary
        liver log loop loos=loose lover luck lucki=lucky lunch lung ma mad magazin=magazine
        magnet=magnetic mainten=maintenance maker=makers manifest manuscript margin marin=marine
        massiv=massive matur=mature max meat mediat=mediated melt=melting membran=membrane
        merchant metabol=metabolism methodolog=methodology mexico migrat=migration milk mill min
        minim=minimal ministri=ministry mirror mixtur=mixture modif=modification modifi=modified
        modul=module molecul=molecules molecular mood moon mortal=mortality motor mount multi
        mutual mysteri=mystery myth nake=naked nearbi=nearby necess=necessity
        necessarili=necessarily neighbor=neighbors neighborhood nervous newli=newly nineteenth
        norm=norms nose notabl=notably nutrit=nutrition occup=occupation occupi=occupied ocean odd
        offend=offenders ofth=ofthe ok ongo=ongoing optic=optical oral orang=orange
        ordinari=ordinary organ organic organism=organisms ought outer outlin=outline
        overcom=overcome overview owe=owing ownership oxid=oxide oxygen pace packag=package
        palac=palace pale palm pan panel parliament partnership passeng=passenger patent pathway
        peak peer percentag=percentage perman=permanent persist=persistent personnel phenomenon
        photograph=photographs phrase physician physiolog=physiological pile pilot pink pipe pitch
        planet plasma plastic platform plenti=plenty plot plus poet poetri=poetry pole polish pool
        pop pose pot poverti=poverty practition=practitioners prais=praise preced=preceding
        pregnanc=pregnancy pretend pride primarili=primarily prime prioriti=priority
        privileg=privilege pro profess=profession profound promin=prominent prompt=prompted proof
        prophet proposit=proposition prospect protocol proud provinc=province puls=pulse pump
        punish=punishment pursu=pursue qualifi=qualified racial radiat=radiation rain rare rat
        ration=rational raw realis=realised receptor recov=recovered recoveri=recovery regardless
        regulatori=regulatory reinforc=reinforced relax=relaxed reliabl=reliable reluct=reluctant
        remot=remote render=rendered renew=renewed rent repair reproduc=reproduced
        reproduct=reproduction republ=republic republican reput=reputation rescu=rescue
        residu=residual resolv=resolve restaur=restaurant restor=restoration retain=retained
        retir=retirement revenu=revenue revers=reverse revis=revised reward rhetor=rhetoric rice
        ritual roof routin=routine rub=rubbed ruin russia sacr=sacred sacrific=sacrifice sail
        saint sake sand satisfact=satisfaction scare=scared scatter=scattered scenario
        scientist=scientists scope scriptur=scripture segment senat=senate senior sensat=sensation
        sensor server settlement sharp shell shit shoe=shoes shoot shrug=shrugged simul=simulation
        simultan=simultaneously sink slice slid slide slope smart smooth snap=snapped snow
        sociolog=sociology solar sole=solely somebodi=somebody somehow somewher=somewhere spain
        spanish spatial speaker spectrum sphere spin spite split stabl=stable stair=stairs
        statut=statute steadi=steady steel stem stimul=stimulation stir stomach storag=storage
        storm stranger strengthen strict string strip stroke stronger struck stuck stuff stupid
        sub submit=submitted substitut=substitute succeed=succeeded sugar suitabl=suitable
        summari=summary sunday superior suprem=supreme surgeri=surgery surgic=surgical
        swallow=swallowed swim=swimming sword syndrom=syndrome synthesi=synthesis
        systemat=systematic tale talent tall tank tap telephon=telephone tempor=temporal
        temporari=temporary tendenc=tendency tender termin=terminal terribl=terrible terror
        testament theatr=theatre thee therebi=thereby thermal thi=thy thorough=thoroughly
        tini=tiny tire=tired tomorrow tonight tour tower toxic traffic trail trait=traits
        tran=trans transmiss=transmission transmit=transmitted trap trauma treati=treaty tribe
        trigger troop=troops truck tube tumor twelv=twelve twentieth twice twin twist=twisted
        uncertainti=uncertainty uncl=uncle unexpect=unexpected unfortun=unfortunately uniform
        uniti=unity univers=universe unknown unto unusu=unusual updat=update urg=urge
        utter=utterly valley valuabl=valuable vast vector veget=vegetables vein veloc=velocity
        verb vers=verse versus vertic=vertical vice victori=victory violat=violation violent
        virtu=virtue virus visitor=visitors vital voltag=voltage vulner=vulnerable wage wake
        wander=wandering wealth weather websit=website wed=wedding weekend welfar=welfare wet
        wheel wider wire wisdom wise wooden worship worst yard ye yesterday younger zero
    """,
    17: """
        abdomin=abdominal abnorm=abnormal abroad abrupt=abruptly absent absorb=absorbed
        absorpt=absorption abund=abundance acceler=acceleration accommod=accommodate accus=accused
        acquaint=acquaintance acr=acres activist=activists adjac=adjacent administ=administered
        admiss=admission adventur=adventure advers=adverse advis=advised afghanistan agenda
        aggreg=aggregate airport alarm alert alien alik=alike alleg=alleged alongsid=alongside
        alpha altogeth=altogether ambigu=ambiguous ambit=ambition amino amongst amus=amusement
        analyst anterior antibiot=antibiotics antibodi=antibodies anxious apolog=apology
        arbitrari=arbitrary arch archaeolog=archaeological architect aros=arose
        articul=articulated artifici=artificial ash aspir=aspirations assault athlet=athletes
        atlant=atlantic attain audio audit autom=automated autonomi=autonomy autumn avenu=avenue
        aw=awful awak=awake backward bacteri=bacterial bacteria baker ban bargain=bargaining
        basebal=baseball basin bath bathroom batteri=battery bbe bean=beans beast bee behalf
        belli=belly belov=beloved belt bench bend benefici=beneficial bet betray=betrayed
        biblic=biblical bid bigger biggest binari=binary birthday bite blank blanket
        bleed=bleeding blend blew blond bloodi=bloody bold boss bother brave brazil breach
        breed=breeding brick brilliant broadcast broader brow bubbl=bubble bulk bull bullet bunch
        butter buyer cabin cabinet cabl=cable cake calcium calendar campus canal candl=candle
        canon cap cape cardiac carriag=carriage casual cattl=cattle causal cautious cave
        ceas=ceased ceil=ceiling cellular census ceremoni=ceremony certainti=certainty chairman
        chao=chaos chapel chariti=charity charm=charming charter chase cheap cheer=cheerful
        chees=cheese chemistri=chemistry chip chocol=chocolate chop=chopped chronicl=chronicles
        cigarett=cigarette cinema circular citizenship civilian classifi=classified clay cliff
        closest clue coal coalit=coalition coastal cock coher=coherent coin collar colonel combat
        commentari=commentary commerc=commerce commission=commissioner commod=commodity
        compass=compassion compel=compelling compli=comply compress=compression
        compromis=compromise con conceal=concealed conceiv=conceived conceptu=conceptual
        confidenti=confidential confin=confined conform conscienc=conscience consensus
        consolid=consolidation constitu=constituents contamin=contamination contest
        conting=contingent contractor contradict=contradiction conveni=convenient convey cop cope
        copper cord corn corp=corps corridor cortex cotton couch counterpart=counterparts
        courtesi=courtesy coven=covenant cow craft crash credibl=credibility creek criterion
        critiqu=critique cruel crush=crushed cue=cues cultiv=cultivation cure curios=curiosity
        curl=curled currenc=currency curs=curse curtain da daddi=daddy dash=dashed dawn dealer
        dealt dean deck deed=deeds deem=deemed deficit degrad=degradation delic=delicate demon den
        dens=dense departur=departure depict=depicted deploy=deployment depriv=deprived
        deputi=deputy despair deviat=deviation devil diagnost=diagnostic diamet=diameter diamond
        diari=diary dick dictionari=dictionary dig digniti=dignity dine=dining dirt dirti=dirty
        disadvantag=disadvantage discipl=disciples disclosur=disclosure dispers=dispersion
        displac=displacement dispos=disposal distort=distorted distract=distracted distress donor
        doorway dot draft dragon drain drama dread=dreadful drift drill drunk dual dull
        dwell=dwelling earl earliest economist=economists ecosystem editori=editorial
        efficaci=efficacy ego egyptian eighteen eighteenth elabor=elaborate elast=elastic elbow
        electrod=electrode elementari=elementary eleven elig=eligible email embed=embedded
        embodi=embodied endless entertain=entertainment enthusiasm envelop=envelope er
        essenc=essence eve evolutionari=evolutionary exam exclaim=exclaimed excus=excuse exempt
        exit expertis=expertise explos=explosion extraordinari=extraordinary eyebrow=eyebrows
        fabric facial faint fanci=fancy fantasi=fantasy farther fascin=fascinating fatigu=fatigue
        feasibl=feasible feather=feathers feminist fenc=fence fertil=fertility festiv=festival
        fever fewer fighter finit=finite fiscal fist flag fleet flip flour flush=flushed folder
        fool footbal=football forehead forgot fort forum foster fourteen fox fraud freeli=freely
        fri=fried friday friendship frighten=frightened funer=funeral funni=funny
        furnitur=furniture galleri=gallery gang gear gen generic generous genesi=genesis genius
        genr=genre gentleman gentlemen geographi=geography geometri=geometry gland glare=glared
        glow glucos=glucose goat gonna government=governmental gram grammar grandfath=grandfather
        grandmoth=grandmother graphic grate=grateful graviti=gravity greec=greece grid grief
        guardian guilt gulf gut ha hallway handbook handsom=handsome hardwar=hardware
        harmoni=harmony harsh hast hath headquart=headquarters healthcar=healthcare hebrew
        heel=heels hello hepat=hepatic heritag=heritage hi hierarchi=hierarchy highway hint holder
        honey honour hook horizon horizont=horizontal hormon=hormone horn horribl=horrible horror
        hostil=hostile hug humor hunger hungri=hungry hybrid hydrogen id illeg=illegal
        impair=impairment implicit imprison=imprisonment impuls=impulse inadequ=inadequate
        incent=incentives inclin=inclined incred=incredible indiffer=indifference induct=induction
        inferior inflammatori=inflammatory inflat=inflation influenti=influential
        ingredi=ingredients inhabit=inhabitants inhibit=inhibition inhibitor=inhibitors
        inject=injection injur=injured insect=insects inspect=inspection instinct insulin
        intak=intake inter intermedi=intermediate interrupt=interrupted intim=intimate
        intrins=intrinsic intuit=intuition inventori=inventory invis=invisible iraq jacket jail
        jaw jean=jeans jersey joke journalist=journalists judici=judicial juic=juice junior
        juri=jury justif=justification keen kidney killer knight korea korean lab lamp lane lap
        laser lateral latest laughter leaf leap leather legaci=legacy legitim=legitimate
        legitimaci=legitimacy len=lens lend=lending lesser lieuten=lieutenant lifestyl=lifestyle
        lifetim=lifetime likelihood likewis=likewise lili=lily limb=limbs lion literaci=literacy
        lone=lonely lowest loyalti=loyalty machineri=machinery madam=madame magnitud=magnitude
        mainstream majesti=majesty mama manipul=manipulation manual marker=markers
        masculin=masculine mask mate matern=maternal math maxim=maximize mayor meaning=meaningful
        meanwhil=meanwhile mediev=medieval medit=meditation mediterranean membership menu
        merci=mercy merit mess meta metaphor metaphys=metaphysical meter=meters metric mexican
        mice micro midnight midst mighti=mighty migrant=migrants mild miner=mineral miracl=miracle
        missionari=missionary moder=moderate modest momentum monday monetari=monetary monk monster
        monument morpholog=morphology mortgag=mortgage mous=mouse mud mum municip=municipal
        murmur=murmured mutat=mutations mutter=muttered nail=nails naval navi=navy
        navig=navigation nearest neat needl=needle neglect neighbour=neighbours
        netherland=netherlands neural neuron=neurons neutral nitrogen nobl=noble nonetheless
        normat=normative nowher=nowhere nucleus nutrient=nutrients oak obstacl=obstacles
        occurr=occurrence offens=offensive oliv=olive onion onset ontolog=ontology op opera
        oppon=opponents oppress=oppression orbit outstand=outstanding oven overhead overlap
        overwhelm=overwhelming pakistan panic pant=pants par para paradigm passiv=passive pastor
        pat patch patholog=pathology patienc=patience peasant=peasants peculiar pen
        penalti=penalty penetr=penetration pension peopl=peoples pepper peripher=peripheral
        persuad=persuade phenomena pig pin pine pit piti=pity placement plaintiff pleasant poison
        poland polar politician=politicians pollut=pollution polym=polymer pope porch portfolio
        portrait posterior potato=potatoes powder precious pregnant preliminari=preliminary
        premis=premises prescrib=prescribed presidenti=presidential presum=presumably
        preval=prevalence primit=primitive princess privaci=privacy prize problemat=problematic
        prohibit=prohibited pronounc=pronounced proven proxim=proximity psalm
        psychiatr=psychiatric psychiatri=psychiatry pub pulmonari=pulmonary punch pupil=pupils
        purpl=purple pursuant pursuit puzzl=puzzled qualif=qualifications qualit=qualitative
        quantit=quantitative quantum queri=query quest quotat=quotation radius rage rail railway
        rape react readili=readily realist=realistic realm rear rebel receipt recept=reception
        recip=recipe recipi=recipient recognis=recognised reconstruct=reconstruction
        recruit=recruitment recurr=recurrent refuge=refugees registr=registration
        regress=regression regret rehabilit=rehabilitation reign reliev=relieved remedi=remedy
        renal resembl=resemblance residenti=residential reson=resonance resort
        respiratori=respiratory resum=resumed retail retreat revel=revelation
        revolutionari=revolutionary rhythm rid ridg=ridge rifl=rifle righteous=righteousness rigid
        roar robot robust rod romanc=romance romant=romantic rope rotat=rotation rubber ruler sage
        salari=salary salvat=salvation satellit=satellite satur=saturated saturday sauc=sauce
        scarc=scarcely scent scholarship scotland scottish script seal sec secular seiz=seized
        seizur=seizures semant=semantic semi sensori=sensory sentiment sergeant serum seventh
        seventi=seventy shade shallow shame sharehold=shareholders sharpli=sharply shed sheep
        shelter sheriff shield shine=shining shore shorter shower signatur=signature silk
        silli=silly singular sixteen sixth sixti=sixty slaveri=slavery slept snake socialist
        sodium sooner sophist=sophisticated soup sovereign sovereignti=sovereignty spare
        specialist specimen=specimens spell spinal spine sponsor=sponsored squeez=squeezed stack
        stain=stained stake stakehold=stakeholders static steal steam stiff stimulus stolen strand
        studio stun=stunned subsect=subsection substrat=substrate subtl=subtle suck=sucked
        suicid=suicide summar=summarized super supervis=supervision supplement supplier=suppliers
        surveil=surveillance suscept=susceptible suspicion sweat sweden sweep swept swift swing
        switzerland swung sympathi=sympathy tab tablespoon=tablespoons tactic=tactics tag tail
        tape tech teenag=teenage tempt=tempted tens=tense tent terrifi=terrified terrorist
        testimoni=testimony textbook theater theorem therapeut=therapeutic therapist thereof
        thesi=thesis thigh=thighs thread threshold throne thrust thumb ticket tobacco toe=toes
        toler=tolerance tomato ton=tons torn tortur=torture toss=tossed tough tourism tourist toy
        tract tragedi=tragedy transpar=transparent transplant=transplantation treasur=treasure
        treasuri=treasury trembl=trembling trick trunk tunnel turkey turkish ugli=ugly uncertain
        uncomfort=uncomfortable unconsci=unconscious undergo underground undertak=undertake
        undertaken unemploy=unemployment upset upstair=upstairs upward urin=urine usag=usage
        vagu=vague valv=valve varianc=variance variant vascular ventur=venture verbal
        verifi=verify veteran=veterans victor vietnam viewer virgin vitamin vocabulari=vocabulary
        void volunt=volunteers voluntari=voluntary waist wale=wales walker ward warfar=warfare
        warmth warrior wealthi=wealthy weigh=weighed weird wheat wherev=wherever whilst
        whip=whipped whoever wholli=wholly wick=wicked widespread width wipe=wiped wireless
        withdraw=withdrawal wive=wives woke wolf workplac=workplace workshop worldwid=worldwide
        worthi=worthy wrist yang yell=yelled
    """,
    18: """
        abdomen aboard aborigin=aboriginal abort=abortion absurd accent accident=accidental
        accustom=accustomed acoust=acoustic addict=addiction adulthood advisori=advisory
        advocaci=advocacy affin=affinity affirm=affirmative aftermath agoni=agony airway albeit
        album algebra allah alley alloy aloud alright altar aluminum ambassador amber
        ambiti=ambitious amid ampl=ample amplitud=amplitude anatomi=anatomy ancestor=ancestors
        anchor angular ankl=ankle anniversari=anniversary annoy=annoyed anonym=anonymous
        anthropolog=anthropology antigen antiqu=antiquity aortic apostl=apostles apparatus
        appetit=appetite apprais=appraisal aqueous arbitr=arbitration arc arctic arena argentina
        arguabl=arguably armor arous=aroused arthriti=arthritis artifact=artifacts
        artilleri=artillery asham=ashamed asthma astonish=astonished asylum auditori=auditory
        austria autism auto automobil=automobile autonom=autonomous aviat=aviation avoid=avoidance
        awaken=awakening awe awkward axial aye backup bacon balloon bang bankruptci=bankruptcy
        baptism baptist bark barn baron barrel basal baselin=baseline basement basket
        basketbal=basketball bass bastard bat batch battalion beard beaten beef behav=behave
        behold belgium beneficiari=beneficiary benign beta bibliographi=bibliography bike
        bilater=bilateral bin biographi=biography biomass biopsi=biopsy bitch bladder blast
        blink=blinked blog bloom blown bodili=bodily bolt boom boost booth bowel boyfriend brass
        breakdown breez=breeze bride brigad=brigade bronz=bronze brutal buck bucket buddha
        buddhism buddhist buddi=buddy buffalo buffer bulletin bundl=bundle burial burnt butler
        butt bye ca cab caf cage cal calori=calories candi=candy cane cannon canva=canvas canyon
        capita capitalist carcinoma cardin=cardinal cardiovascular cargo caribbean carpet cart
        carv=carved catalogu=catalogue catalyst cathedr=cathedral cathet=catheter caution
        cavalri=cavalry caviti=cavity cement cemeteri=cemetery cerebr=cerebral certifi=certified
        cervic=cervical champagn=champagne champion chap chat chemotherapi=chemotherapy
        cherri=cherry chi chile chill chlorid=chloride cholesterol chorus chromosom=chromosome
        chuckl=chuckled civic clan clarifi=clarify clariti=clarity clearanc=clearance
        clench=clenched clergi=clergy clerk clever cloak closet closur=closure clutch=clutched
        coars=coarse coconut cohort coincid=coincidence collater=collateral collis=collision
        combust=combustion comedi=comedy comic commonwealth communal communism compact
        compat=compatible competitor=competitors complement complementari=complementary concert
        condemn=condemned cone congenit=congenital congreg=congregation congression=congressional
        conjunct=conjunction conquest conspiraci=conspiracy constrain=constrained contempt
        contextu=contextual contin=continent continent=continental continuum
        contradictori=contradictory converg=convergence cooki=cookies coronari=coronary
        corps=corpse corpus corros=corrosion cortic=cortical cosmic cottag=cottage cough countless
        countrysid=countryside courtyard crawl=crawled creator crept crise=crises crude cult
        cumul=cumulative custodi=custody customari=customary cute cylind=cylinder czech
        dairi=dairy daisi=daisy dam damp darker darl=darling daylight deaf debri=debris decay
        deceas=deceased decent decomposit=decomposition decor=decorated decre=decree
        deduct=deduction deer deform=deformation deleg=delegation delici=delicious delta dem
        dementia demograph=demographic denial denmark dental depreci=depreciation descent
        destini=destiny detach=detached detector detent=detention diagnos=diagnosed dialog
        dietari=dietary dilemma dim diminish=diminished dioxid=dioxide dip diplomaci=diplomacy
        diplomat=diplomatic directori=directory dis disagre=disagree disc
        disciplinari=disciplinary disclos=disclose discomfort discount disgust disk
        disposit=disposition disrupt=disruption dissert=dissertation dissolut=dissolution
        dissolv=dissolved distal dividend=dividends doc dock documentari=documentary doll dorsal
        dough downstair=downstairs downstream downtown downward drainag=drainage drank drawer
        driveway drought drum duck dug dumb dusti=dusty dynasti=dynasty dysfunct=dysfunction
        eagl=eagle earnest earthquak=earthquake eh eighth eighti=eighty elector=electoral
        electromagnet=electromagnetic eleg=elegant eleph=elephant embassi=embassy empathi=empathy
        empower=empowerment enact=enacted enclos=enclosed enlighten=enlightenment
        enthusiast=enthusiastic entrepreneur=entrepreneurs entrepreneurship envi=envy epic
        erect=erected eros=erosion esteem euro exil=exile exodus exot=exotic expedit=expedition
        explanatori=explanatory explod=exploded exterior fairi=fairy fake fame fantast=fantastic
        fatal fatti=fatty favourit=favourite fax feast fellowship femin=feminism feminin=feminine
        fetal fierc=fierce finest finland fisheri=fisheries flavor fled flora
        fluctuat=fluctuations flung flux focal fog fond foolish footstep=footsteps forbidden
        forecast foremost forens=forensic fork forthcom=forthcoming fortress fossil founder
        fountain fragil=fragile freed friction frontal frontier frost fuller fur furi=fury furious
        furnish=furnished fusion fuzzi=fuzzy gambl=gambling garag=garage garlic garment gase=gases
        gasp=gasped gastric gaug=gauge gel genocid=genocide genom=genome geolog=geological
        geometr=geometric ginger girlfriend glimps=glimpse globe glorious glove=gloves goddess
        golf goodby=goodbye gorgeous gossip gown gradient grandma gratitud=gratitude gravel
        greenhous=greenhouse grim groan=groaned grove growl=growled guinea guitar gym habitat
        halfway halt ham hammer happili=happily harbor harbour harvest hatr=hatred haven hay
        headach=headache heather hedg=hedge heir helpless herb=herbs herd heroic
        heterogen=heterogeneous hierarch=hierarchical hindu hispan=hispanic ho holland holli=holly
        hollow holocaust homeland homeless homework homogen=homogeneous honesti=honesty hood hop
        huh hull humanitarian humbl=humble hungari=hungary hungarian hut hypertens=hypertension
        hypothes=hypotheses icon idiot idl=idle illumin=illuminated illus=illusion imageri=imagery
        imaginari=imaginary immens=immense imper=imperative inabl=inability
        inappropri=inappropriate incap=incapable incomplet=incomplete inconsist=inconsistent
        incorrect incur=incurred indonesia infantri=infantry infecti=infectious infer=inference
        inflamm=inflammation injustic=injustice ink inn insan=insane inspector instabl=instability
        instructor insuffici=insufficient intact integ=integer intellect interim
        interperson=interpersonal intersect=intersection intestin=intestinal intimaci=intimacy
        intra invari=invariably invers=inverse inward ironi=irony irregular irrelev=irrelevant
        irrig=irrigation isra=israeli jar jazz jealous jealousi=jealousy jerk=jerked jet judaism
        judgement junction jungl=jungle juvenil=juvenile ken kenya keyword=keywords kin
        kinet=kinetic kit knelt knot lad ladder laden lamb laptop latent lattic=lattice lawn
        layout lazi=lazy learnt leas=lease legend legislatur=legislature leisur=leisure lemon
        lengthi=lengthy lesbian lest leverag=leverage liabl=liable lid lighter lightn=lightning
        lime linen lipid litig=litigation livestock lo lobbi=lobby lodg=lodge longest
        longitudin=longitudinal louder loyal lump lust luxuri=luxury macro magnific=magnificent
        maid makeup malaysia malign=malignant manageri=managerial mandat=mandate
        mandatori=mandatory mankind mansion mar marbl=marble marit=marital maritim=maritime marrow
        martial matric=matrices meantim=meantime medial median melodi=melody memorandum mentor
        mercuri=mercury merri=merry mesh messeng=messenger metropolitan microbi=microbial
        microscop=microscope millennium mini miser=miserable miseri=misery mist mistaken mistress
        mo moistur=moisture monkey monopoli=monopoly monsieur morrow mourn=mourning muhammad
        multipli=multiply multitud=multitude muscular musician=musicians myocardi=myocardial
        nanoparticl=nanoparticles nasal nasti=nasty nationalist nausea nazi nearer negro
        neighbourhood nephew nest nigeria nightmar=nightmare nineteen nineti=ninety ninth
        nomin=nominal nonlinear nonprofit nonsens=nonsense noon northeast northwest norway
        norwegian notat=notation notebook notif=notification notwithstand=notwithstanding noun
        nowaday=nowadays nuclei nut=nuts oath obedi=obedience obes=obesity obey obscur=obscure
        obstruct=obstruction offenc=offence offset offspr=offspring oldest omit=omitted oneself
        optimum orthodox ottoman ounc=ounce outbreak outdoor outlook outward over=overly
        overlook=overlooked overnight oversea=overseas oversight pa packet pad painter
        palestin=palestine palestinian papa parad=parade paradis=paradise paradox pardon parish
        parliamentari=parliamentary partit=partition password paste patrol pavement payabl=payable
        pearl pediatr=pediatric peel=peeled pencil peninsula penni=penny peptid=peptide
        perceptu=perceptual persian persuas=persuasion pet petit=petition petroleum petti=petty
        pharmaceut=pharmaceutical philippin=philippines phosphat=phosphate photographi=photography
        piano pie pillar=pillars pillow pistol pizza plagu=plague plantat=plantation
        plausibl=plausible plea plead=pleaded plug plural poetic pond pork portal porter
        portray=portrayed portug=portugal portugues=portuguese postop=postoperative postur=posture
        postwar potassium potent pragmat=pragmatic preach=preaching precipit=precipitation
        predomin=predominantly prefac=preface prejudic=prejudice premium prescript=prescription
        prevail=prevailing prey probe processor proclaim=proclaimed procur=procurement
        prolifer=proliferation prolong=prolonged prone propag=propagation propaganda
        propheci=prophecy prose prosecut=prosecution prosper=prosperity prostat=prostate
        provinci=provincial psychic psychotherapi=psychotherapy puriti=purity purs=purse
        pussi=pussy quasi queer questionnair=questionnaire quit rabbit racism rack radar radial
        railroad ranch rational=rationale reactiv=reactive reactor realism rebellion
        recess=recession reciproc=reciprocal reconcili=reconciliation recreat=recreation
        redempt=redemption reed ref refin=refined refug=refuge regener=regeneration regiment
        relianc=reliance remaind=remainder renaiss=renaissance rental repetit=repetition
        replic=replication reprint=reprinted resent=resentment reservoir resign=resigned
        resili=resilience restless restraint resurrect=resurrection retent=retention rev
        reveng=revenge reviv=revival revolt rib=ribs ribbon rider ridicul=ridiculous
        rigor=rigorous rim rip=ripped riski=risky rival rob robe robin rocki=rocky rose=roses
        rubi=ruby rude saddl=saddle safer sailor=sailors salad salmon sanction=sanctions
        sanctuari=sanctuary sandi=sandy sandwich sank satan satisfactori=satisfactory savag=savage
        scandal scar schemat=schematic schizophrenia scratch screw scrutini=scrutiny sect sediment
        segreg=segregation selfish seller sensibl=sensible sequenti=sequential serial sermon
        settler=settlers setup seventeen seventeenth sexi=sexy shaft shalt shatter=shattered shear
        sheer shelf shepherd shi=shy shini=shiny shone shove=shoved sibl=siblings sieg=siege
        silicon simpler simplest simplic=simplicity simplifi=simplified sincer=sincere singer sip
        sixteenth skelet=skeletal sketch skirt skull slam=slammed slap=slapped sleev=sleeve
        slender slightest slim slower smallest soak=soaked soap societ=societal socio
        socioeconom=socioeconomic sofa solidar=solidarity solitari=solitary solubl=soluble solvent
        sore sorrow sour southeast southwest span spark spectacl=spectacle spectacular spectra
        spectral specul=speculation sperm spi=spy spill spiral splendid spontan=spontaneous spoon
        spous=spouse sprang spray spun squadron staircas=staircase stanc=stance stark
        startl=startled stationari=stationary statu=statue statutori=statutory steadili=steadily
        steep steer=steering stern stimuli stole stool stove straighten=straightened
        straightforward straw strode strongest stuf=stuffed stumbl=stumbled submiss=submission
        subordin=subordinate subpart subset substant=substantive successor sue summit
        summon=summoned sunlight sunni=sunny sunset sunshin=sunshine superfici=superficial
        supernatur=supernatural supervisor supper supra sur surg=surge surgeon surplus
        surrend=surrender survivor=survivors suspend=suspended suspens=suspension
        suspici=suspicious swear swedish swell=swelling swiss swollen symmetri=symmetry
        sympathet=sympathetic symposium syntax synthet=synthetic tablet=tablets taiwan tan
        tangibl=tangible taxabl=taxable taxat=taxation taxi taxpay=taxpayer teas=teasing teaspoon
        teen=teens temper templat=template temporarili=temporarily temptat=temptation tenant
        tenni=tennis tenth terminolog=terminology terrac=terrace terrain textual textur=texture
        thailand theft theorist=theorists thereaft=thereafter thirteen thunder thursday thyroid
        tide tiger tighten=tightened tilt=tilted timber tin tion toast toilet toll tomb tooth tore
        towel trader=traders traffick=trafficking tragic trajectori=trajectory
        transcript=transcription transient transnat=transnational transvers=transverse trash
        traumat=traumatic tray tremend=tremendous triangl=triangle tribal tribun=tribunal
        triniti=trinity tripl=triple triumph trivial tropic=tropical trouser=trousers trump
        truste=trustee tuck=tucked tuesday tug=tugged tune turnov=turnover uh ultrasound um
        unawar=unaware unclear uncommon undermin=undermine underneath undoubt=undoubtedly
        uneasi=uneasy unfair unfamiliar unhappi=unhappy unifi=unified unnecessari=unnecessary
        unpleas=unpleasant unpublish=unpublished unstabl=unstable unwil=unwilling up=ups upright
        uptak=uptake urgent urinari=urinary useless vacat=vacation vaccin=vaccine vacuum vain
        valuat=valuation vampir=vampire vanish=vanished vapor veil vendor venous
        ventil=ventilation ventricular verif=verification viabl=viable vibrat=vibration
        vicin=vicinity victorian vietnames=vietnamese viewpoint villa violet viral vitro vivid
        vivo vocal vol=vols volatil=volatile vomit=vomiting voter=voters voyag=voyage wagon
        warehous=warehouse warrant wavelength weaker weari=weary wednesday weed
        whatsoev=whatsoever wherebi=whereby wherein widen=widened widow wilder=wilderness
        wildlif=wildlife willing=willingness winner witch withdrawn withdrew wolv=wolves wool
        workforc=workforce wow wrath ya yeast yoga youngest zinc
    """,
    19: """
        abbey ach=ache adher=adherence adhes=adhesion adsorpt=adsorption advent advisor aerial
        agit=agitation airplan=airplane aisl=aisle akin ala=alas ale almighti=almighty
        altitud=altitude amateur amazon ambient ambul=ambulance amen ammunit=ammunition anal
        anemia anesthesia angrili=angrily anguish annal=annals antenna apprehens=apprehension apt
        aquat=aquatic archbishop arithmet=arithmetic assay assimil=assimilation atop atrial
        auction auditor aura austrian authorit=authoritative authoritarian
        autobiographi=autobiography auxiliari=auxiliary ave await=awaiting awesom=awesome axe=axes
        ay bachelor balconi=balcony bald bandwidth bangladesh banner basil batter=battered
        battlefield bead=beads bedsid=bedside berri=berry bi bicycl=bicycle bile
        biochem=biochemical biodivers=biodiversity biomed=biomedical bipolar bizarr=bizarre bliss
        blunt blur=blurred bonus boulder bourgeoi=bourgeois brazilian breadth brethren broker
        browser bud bulli=bullying bureaucraci=bureaucracy bureaucrat=bureaucratic buse=buses
        bypass calibr=calibration capillari=capillary captiv=captive carbohydr=carbohydrate
        carpent=carpenter casualti=casualties ceram=ceramic chancellor chaotic charit=charitable
        cheaper chef chiefli=chiefly choke=choked chuck cinnamon citat=citation clad claimant
        clasp=clasped clearer clinician=clinicians clip clung cocain=cocaine coffin cohes=cohesion
        coil coke collagen collector colon commenc=commenced communion compart=compartment
        compil=compiled comprehend compulsori=compulsory comrad=comrades concurr=concurrent
        conductor confeder=confederate conquer=conquered consecut=consecutive consol=console
        constabl=constable contractu=contractual contributor=contributors coral
        corinthian=corinthians costum=costume counselor counten=countenance coup cowboy crap
        creditor=creditors creep crest cricket crisp crow cruelti=cruelty cruis=cruise crust cuban
        cubic cum curb cyber cyclic dame dancer=dancers darken=darkened dat dataset
        deadlin=deadline debtor decept=deception deepest deiti=deity delet=delete desktop
        deterior=deterioration devast=devastating devis=devised diagon=diagonal dial diarrhea
        diesel disagr=disagreement disbelief discard=discarded discern discurs=discursive
        disguis=disguise dislik=dislike dissemin=dissemination dive dome donna dosag=dosage
        doubtless dove download drip=dripping drown=drowned duct dye easter edema eldest emergent
        encod=encoding encyclopedia endogen=endogenous endotheli=endothelial energet=energetic
        enlarg=enlarged enrol=enrolled ensembl=ensemble entail=entails
        entrepreneuri=entrepreneurial entropi=entropy epidem=epidemic epidemiolog=epidemiology
        epistem=epistemic epitheli=epithelial equit=equitable erot=erotic escort ethanol
        evangel=evangelical even=evenly exagger=exaggerated exert existenti=existential
        exponenti=exponential expressli=expressly exquisit=exquisite extinct=extinction factual
        famin=famine fare farewel=farewell ferri=ferry fetch fibr=fibre fieri=fiery fifteenth
        fig=figs fingertip=fingertips finn fireplac=fireplace fixat=fixation flap flee flock
        fluoresc=fluorescence foam font fore formid=formidable foul fourteenth freight
        fridg=fridge fungi furnac=furnace gamma garbag=garbage garrison gasolin=gasoline
        gastrointestin=gastrointestinal gateway gaussian generos=generosity genus gothic gotta
        gracious graft grammat=grammatical grandpar=grandparents graze=grazing greed
        grind=grinding groceri=grocery groundwat=groundwater haar hamlet handi=handy handkerchief
        happier harass=harassment harden=hardened hardi=hardy harmon=harmonic hastili=hastily
        hatch haunt=haunted hawk heap heath heavier heighten=heightened helicopt=helicopter helmet
        hemispher=hemisphere hemorrhag=hemorrhage hen herald hereaft=hereafter herein hiss=hissed
        hitherto holist=holistic hopeless hu hub hum humid=humidity humil=humility
        humili=humiliation humour hurrican=hurricane hydraul=hydraulic hygien=hygiene
        hypothet=hypothetical ici=icy imit=imitation immin=imminent immort=immortal
        impati=impatient imperfect imprint increment=incremental indispens=indispensable
        ineffect=ineffective infanc=infancy infrar=infrared infus=infusion inland inmat=inmates
        innat=innate inquir=inquired inscript=inscription insignific=insignificant insofar insult
        intercours=intercourse interdisciplinari=interdisciplinary interstat=interstate
        interven=intervene intracellular intraven=intravenous introductori=introductory
        invok=invoked ionic iranian iraqi iri=iris irrat=irrational irrit=irritation
        israelit=israelites ist ivi=ivy ivori=ivory jade jam jehovah jewelri=jewelry kay keeper
        kernel keyboard kinas=kinase kinship kitti=kitty lace lanc=lance landlord latino
        latitud=latitude laundri=laundry lebanon legendari=legendary lens=lenses lent lethal
        levi=levy lexic=lexical licenc=licence lick=licked lifelong lineag=lineage
        linger=lingering linkag=linkage liquor lobe locus logist=logistics loneli=loneliness
        loung=lounge luckili=luckily lymph lymphoma magnesium mainland malaria mall mammal=mammals
        mantl=mantle marketplac=marketplace marsh marshal marxist massag=massage masteri=mastery
        mat mater mattress melancholi=melancholy memoir=memoirs memor=memorable
        merchandis=merchandise merger messiah methyl metr=metres microscopi=microscopy
        microwav=microwave militia minus mislead=misleading missil=missile mitig=mitigation
        mitochondri=mitochondrial moan=moaned mob mock moist mold monarch monarchi=monarchy
        monasteri=monastery moonlight moss mug multicultur=multicultural mumbl=mumbled
        mystic=mystical nay necrosi=necrosis neglig=negligence neurolog=neurological
        neurosci=neuroscience newborn newer nickel niec=niece nippl=nipples nobil=nobility
        noisi=noisy notifi=notify notori=notorious nurseri=nursery offshor=offshore olymp=olympic
        om onward=onwards opt optimist=optimistic oracl=oracle orchestra ore outfit outlet
        outright outset overt pagan pancreat=pancreatic paperwork participatori=participatory
        pasta pathogen=pathogens patron pedagogi=pedagogy pelvic pend=pending peni=penis
        perimet=perimeter peripheri=periphery permeabl=permeability perpendicular
        perpetu=perpetual persecut=persecution pertain=pertaining pertin=pertinent peru
        pervas=pervasive phoenix photon picnic pierc=pierce pill=pills pinch pioneer
        pipelin=pipeline placebo plateau plaza plung=plunged pneumonia poli=poly policeman
        politi=polity polynomi=polynomial pore porous portabl=portable poster potter preacher
        precaut=precautions precursor prematur=premature prestig=prestige printer
        prognosi=prognosis prosecutor proton prototyp=prototype proverb=proverbs provok=provoked
        proxi=proxy pseudo psychoanalysi=psychoanalysis pyramid rabbi racist rag=ragged raid
        rainbow rainfal=rainfall ram rash raven reckon rectangular recycl=recycling reflex
        refriger=refrigerator regain repress=repression resect=resection restructur=restructuring
        reverend ripe rite=rites rocket rue rumor=rumors ruptur=rupture sabbath sack saith salient
        saxon scari=scary scarlet schema scrambl=scrambled scroll sculptur=sculpture
        secreci=secrecy seismic shah shaken shelv=shelves shiver=shivered shortag=shortage
        shudder=shuddered sidewalk sideway=sideways sinus skeleton skip slaughter slot
        smash=smashed snatch=snatched snort=snorted sober soccer sock=socks soda soften=softened
        solemn solo someday soy spear specialti=specialty spectroscopi=spectroscopy
        spheric=spherical spider spit squad stadium stall stamp standpoint stereotyp=stereotypes
        steril=sterile sticki=sticky stochast=stochastic strive stubborn subdivis=subdivision
        subsidi=subsidies subsidiari=subsidiary suburban sudan sulfur sultan sunk
        superintend=superintendent sweetheart swore sworn symmetr=symmetric synthes=synthesized
        syrup tackl=tackle taller tang tariff teddi=teddy telecommun=telecommunications telegraph
        tendon tensil=tensile tenur=tenure terrestri=terrestrial tertiari=tertiary testifi=testify
        textil=textile theatric=theatrical therein thief thine thinker=thinkers thirst
        thrill=thrilled tier token torch trademark trailer treatis=treatise trench tribut=tribute
        trim trout tub tuberculosi=tuberculosis tuition turbul=turbulent twelfth twilight
        ukrain=ukraine ultra umbrella unaccept=unacceptable unchang=unchanged uncov=uncovered
        undergradu=undergraduate une unequ=unequal uneven unilater=unilateral unjust
        unlimit=unlimited unpreced=unprecedented unpredict=unpredictable unreason=unreasonable
        unrel=unrelated unseen unsuccess=unsuccessful unsur=unsure unwant=unwanted upsid=upside
        upstream urgenc=urgency utmost vacant vagin=vaginal vanilla vaniti=vanity velvet
        vengeanc=vengeance venu=venue venus verdict versa vet vicious vigor=vigorous vinegar
        vintag=vintage virtuous viscos=viscosity vocat=vocational wade waiter wari=wary
        wartim=wartime wax weaken=weakened weep=weeping whale whenc=whence whiskey whistl=whistle
        willow wizard worthwhil=worthwhile woven wretch=wretched wrought yahweh yer yi yo
        yourselv=yourselves yuan
    """,
}
